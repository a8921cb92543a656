'use strict'

const { misuse } = require('@millrace/errors')
const { appendLines } = require('../appending')
const { readLines } = require('../lines')
const { countRecords } = require('../report')
const { writeOptions } = require('../records')
const { openTarget } = require('../target')
const { openTextSource } = require('../text-source')

/** @typedef {import('../appending').ReadLine} Line */

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'import',
  summary: 'appends the lines of a file of JSON, many at a time',
  details: 'The log is created if there is none. At a line that is not a record, the command stops: the lines before it are ' +
    'in the log, and the message says with which line to go on. A text that is one array of objects is refused: ' +
    'jq -c \'.[]\' makes lines of its items.',
  arguments: [
    { name: 'file', description: 'the log' },
    { name: 'source', description: 'a file of JSON, one record a line; - or none for standard input', isOptional: true }
  ],
  options: [...writeOptions, { flags: '--json', description: 'print one line of JSON about what was done' }],
  examples: [['millrace import events.log events.ndjson', 'every line of events.ndjson becomes a record']],
  async run ({ args, options, shell }) {
    const { input, name, size, stop } = await openTextSource(shell, { command: 'import', file: args.file, source: args.source })
    const progress = shell.progress('importing')
    const log = await openTarget(args.file, options)
    let done
    try {
      shell.onAbort(stop)
      const lines = refuseArray(readLines(input, (sizeDone) => progress.update(sizeDone, size)), name)
      done = await appendLines(log, lines, { name, signal: shell.signal, isEager: false })
      if (!shell.signal.aborted) await log.make?.()
    } finally {
      progress.end()
      await log.close()
    }
    if (options.json) shell.print(JSON.stringify({ records: done.records, since: log.since.value }))
    else if (shell.signal.aborted) shell.complain(`millrace: imported the lines up to ${done.lines}; go on with tail -n +${done.lines + 1}\n`)
    else shell.complain(`imported ${countRecords(done.records)}\n`)
  }
}

/**
 * Passes lines on, but not a single one that is an array of objects: it was meant as a file of many records.
 * @param {AsyncIterable<Line[]>} input
 * @param {string} name
 * @returns {AsyncGenerator<Line[]>}
 */
async function * refuseArray (input, name) {
  /** @type {Line[] | null} */
  let first = null
  for await (const lines of input) {
    if (first !== null && first.length > 0) yield first
    /** @type {boolean} */
    const isHeld = first === null && lines.length === 1
    first = isHeld ? lines : []
    if (!isHeld) yield lines
  }
  if (first === null || first.length === 0) return
  const count = countObjects(first[0].text)
  if (count > 0) {
    throw misuse(`${name} is one array of ${countRecords(count)}, and would become one record; jq -c '.[]' makes lines of its ` +
      'items, and millrace append takes it as one record')
  }
  yield first
}

/** @param {string | null} text @returns {number}  0 of what is no array of objects */
function countObjects (text) {
  if (text === null || !/^\s*\[\s*\{/.test(text)) return 0
  try {
    const items = JSON.parse(text)
    return items.every((/** @type {unknown} */ item) => item !== null && typeof item === 'object' && !Array.isArray(item)) ? items.length : 0
  } catch {
    return 0
  }
}
