'use strict'

const { escapeControls } = require('@millrace/flow')
const {
  filterOptions, parseCount, printOptions, printRecords, reportLost, toReadOptions, withFirst
} = require('../records')
const { describeRange } = require('../report')
const { openSource } = require('../source')

/** @typedef {import('../source').End} End */

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'tail',
  summary: 'prints the last records, and with --follow those that are appended',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    { flags: '-n, --lines <count>', description: 'how many records', parse: parseCount, default: 10 },
    { flags: '-f, --follow', description: 'go on with records that are appended, until interrupted' },
    ...filterOptions,
    ...printOptions
  ],
  examples: [
    ['millrace tail -n 20 -f events.log', 'the last 20 records, and then each as it is appended'],
    ['millrace tail -f --pretty --level warn logs', 'warnings and errors of a program that logs into the folder']
  ],
  async run ({ args, options, shell }) {
    const { log, first, parts, end: readEnd, close } = await openSource(shell, args.file, options)
    try {
      const end = readEnd()
      const { last, code } = await readLast(log, end, withFirst(options, first), shell)
      await printRecords(shell, last, options)
      const isDamaged = parts.map(({ log }) => reportDamagedEnd(shell, log)).includes(true)
      if (options.follow) await follow(log, end, options, shell)
      return isDamaged ? 1 : code
    } finally {
      await close()
    }
  }
}

/**
 * @param {import('../source').Log} log
 * @param {End} end  behind the last record to read
 * @param {Record<string, any>} options
 * @param {import('../shell').Shell} shell
 */
async function readLast (log, end, { lines, grep, ...options }, shell) {
  const wanted = toReadOptions({ ...options, grep, limit: lines })
  const stream = log.stream({ ...wanted, ...end.before, reverse: true, signal: shell.signal })
  const last = []
  if (lines > 0) {
    for await (const item of stream) {
      if (shell.signal.aborted) break
      if (!end.includes(item.seq)) continue
      if (grep !== undefined && !item.value.includes(grep)) continue
      last.push(item)
      if (last.length === lines) break
    }
  }
  return { last: iterate(last.reverse()), code: reportLost(shell, stream) }
}

/**
 * What opening found behind the last record: no read of the records before it meets that.
 * @param {import('../shell').Shell} shell
 * @param {import('../source').Log} log
 */
function reportDamagedEnd (shell, log) {
  const [damage] = log.recovery?.damage ?? []
  if (damage === undefined) return false
  const what = `${log.filename} is damaged, ${describeRange(damage)}`
  shell.complain(`millrace: ${escapeControls(what)}; millrace verify lists the damage, millrace repair saves the rest\n`)
  return true
}

/**
 * @template T
 * @param {T[]} items
 */
async function * iterate (items) {
  yield * items
}

/**
 * @param {import('../source').Log} log
 * @param {End} end
 * @param {Record<string, any>} options
 * @param {import('../shell').Shell} shell
 */
async function follow (log, end, options, shell) {
  const stream = log.stream({ ...toReadOptions(options), ...end.behind, live: true })
  shell.onAbort(() => stream(true, () => {}))
  if (!shell.signal.aborted) await printRecords(shell, stream, options)
}
