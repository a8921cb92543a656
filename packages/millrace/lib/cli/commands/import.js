'use strict'

const fs = require('node:fs')
const { once } = require('node:events')
const { appendLines } = require('../appending')
const { readLines } = require('../lines')
const { countRecords } = require('../report')
const { writeOptions } = require('../records')
const { openTarget } = require('../target')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'import',
  summary: 'appends the lines of a file of JSON, many at a time',
  details: 'The log is created if there is none. At a line that is not a record, the command stops: the lines before it are ' +
    'in the log, and the message says with which line to go on.',
  arguments: [
    { name: 'file', description: 'the log' },
    { name: 'source', description: 'a file of JSON, one record a line; - or none for standard input', isOptional: true }
  ],
  options: [...writeOptions, { flags: '--json', description: 'print one line of JSON about what was done' }],
  examples: [['millrace import events.log events.ndjson', 'every line of events.ndjson becomes a record']],
  async run ({ args, options, shell }) {
    const { input, name, size } = await openInput(args.source, shell)
    const progress = shell.progress('importing')
    const log = await openTarget(args.file, options)
    let done
    try {
      shell.onAbort(() => input.destroy())
      const lines = readLines(input, (sizeDone) => progress.update(sizeDone, size))
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
 * @param {string | undefined} source
 * @param {import('../shell').Shell} shell
 */
async function openInput (source, shell) {
  if (source === undefined || source === '-') return { input: shell.stdin, name: 'standard input', size: 0 }
  const input = fs.createReadStream(source, { highWaterMark: 1024 * 1024 })
  // A missing file must not leave an empty log behind.
  await once(input, 'open')
  return { input, name: source, size: fs.statSync(source).size }
}
