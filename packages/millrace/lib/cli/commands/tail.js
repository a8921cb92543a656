'use strict'

const fs = require('node:fs')
const { clearInterval, setInterval } = require('node:timers')
const { setTimeout: wait } = require('node:timers/promises')
const { LogError } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { explainOption, printExplanation } = require('../explaining')
const {
  filterOptions, parseCount, printOptions, printRecords, reportLost, reportUnknown, toReadOptions
} = require('../records')
const { describeRange } = require('../report')
const { isFolder, openSource } = require('../source')

/** How often `--follow` looks for a log, and whether the path leads to another one. */
const LOOK_MS = 250

/** @typedef {import('../source').End} End */
/** @typedef {import('../source').OpenedSource} OpenedSource */

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'tail',
  summary: 'prints the last records, and with --follow also the ones that are appended meanwhile',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    { flags: '-n, --lines <count>', description: 'how many records', parse: parseCount, default: 10 },
    {
      flags: '-f, --follow',
      description: 'go on with records that are appended, until interrupted. In a folder without a log, wait for one'
    },
    {
      flags: '-F, --follow-name',
      description: 'as --follow, but wait for the file or folder if it does not exist, and go on with the new one if it is replaced, ' +
        'or if a text file is cut'
    },
    ...filterOptions,
    ...printOptions,
    explainOption
  ],
  examples: [
    ['millrace tail -n 20 -f events.log', 'the last 20 records, and then each as it is appended'],
    ['millrace tail -f --pretty --level warn logs', 'warnings and errors of a program that logs there'],
    ['millrace tail -F logs', 'all that a program logs, also if it begins later']
  ],
  async run ({ args, options, shell }) {
    shell.watchOutput()
    let isNew = false
    let code = 0
    do {
      const identity = identityOf(args.file)
      const opened = await openWhenThere(shell, args.file, options)
      if (opened === null) return code
      try {
        if (options.explain) return await printExplanation(shell, opened.source, { ...options, reverse: true })
        code = await tail(opened.source, { isNew: isNew || opened.isAwaited, identity }, { args, options, shell })
      } finally {
        reportUnknown(shell, opened.source.tally, options)
        await opened.source.close()
      }
      isNew = options.followName && !shell.signal.aborted
      if (isNew && isTextFile(opened.source)) await whenNotEmpty(shell, args.file)
      if (isNew) shell.complain(`millrace: ${escapeControls(args.file)} is another log now; going on with it\n`)
    } while (isNew)
    return code
  }
}

/**
 * Of the file or folder that a path leads to.
 * @param {string} file
 * @returns {string | null}  null if there is none
 */
function identityOf (file) {
  const stats = fs.statSync(file, { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`
}

/** @param {OpenedSource} source */
function isTextFile ({ identity: { framing, segments } }) {
  return framing === 'lines' && segments === undefined
}

/**
 * An empty file does not show that it is text.
 * @type {(shell: import('../shell').Shell, file: string) => Promise<void>}
 */
async function whenNotEmpty (shell, file) {
  while (!shell.signal.aborted && fs.statSync(file, { throwIfNoEntry: false })?.size === 0) {
    await wait(LOOK_MS, undefined, { signal: shell.signal }).catch(() => {})
  }
}

/**
 * @param {import('../shell').Shell} shell
 * @param {string} file
 * @param {Record<string, any>} options
 * @returns {Promise<{ source: OpenedSource, isAwaited: boolean } | null>}  null if the user did not want to wait for it
 */
async function openWhenThere (shell, file, options) {
  for (let isAwaited = false; ; isAwaited = true) {
    try {
      return { source: await openSource(shell, file, options), isAwaited }
    } catch (/** @type {any} */ err) {
      const isWaiting = options.followName || (options.follow && isFolder(file))
      if (err.code === 'ENOENT' && options.follow && !isWaiting) {
        const found = `${file}: there is no such file; check the path, or wait for it with millrace tail -F`
        throw new LogError('ENOENT', found, { cause: err })
      }
      if (err.code !== 'ENOENT' || !isWaiting) throw err
    }
    if (!isAwaited) shell.complain(`millrace: ${escapeControls(file)} has no log yet; waiting for one\n`)
    await wait(LOOK_MS, undefined, { signal: shell.signal }).catch(() => {})
    if (shell.signal.aborted) return null
  }
}

/**
 * @param {OpenedSource} source
 * @param {{ isNew: boolean, identity: string | null }} found  all of a new log is printed
 * @param {import('../definition').Call} call
 * @returns {Promise<number>}  the exit code
 */
async function tail (source, { isNew, identity }, { args, options, shell }) {
  const { log, parts, tally, end: readEnd } = source
  const isFollowing = options.follow || options.followName
  const end = readEnd()
  let [code, isDamaged] = [0, false]
  if (!isNew) {
    const { last, code: found } = await readLast(log, end, options, shell)
    await printRecords(shell, last, options)
    reportUnknown(shell, tally, options)
    isDamaged = parts.map(({ log }) => reportDamagedEnd(shell, log)).includes(true)
    code = isDamaged ? 1 : found
  }
  if (!isFollowing) return code
  const place = isNew ? { behind: {}, note: end.note } : end
  const known = identity ?? identityOf(args.file)
  // Of a text file, the log says so, after it has read the rest of the old one.
  const looksAround = options.followName && !isTextFile(source)
  const isReplaced = () => looksAround && ![null, known].includes(identityOf(args.file))
  await follow(log, place, isReplaced, { options, shell })
  return code
}

/**
 * @param {import('../source').Log} log
 * @param {End} end  after the last record to read
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
      if (grep !== undefined && !item.value.includes(grep)) continue
      last.push(item)
      if (last.length === lines) break
    }
  }
  return { last: iterate(last.reverse()), code: reportLost(shell, stream) }
}

/**
 * What opening found after the last record: no read of the records before it meets that.
 * @param {import('../shell').Shell} shell
 * @param {import('../source').Log} log
 */
function reportDamagedEnd (shell, log) {
  const [damage] = log.recovery?.damage ?? []
  if (damage === undefined) return false
  // What cannot be opened has no range.
  const what = `${log.filename} is damaged${damage.size > 0 ? `, ${describeRange(damage)}` : `: ${damage.what}`}`
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
 * @param {Pick<End, 'behind' | 'note'>} place
 * @param {() => boolean} isReplaced  whether there is another log to follow
 * @param {{ options: Record<string, any>, shell: import('../shell').Shell }} call
 */
async function follow (log, place, isReplaced, { options, shell }) {
  let { behind } = place
  let mustEnd = false
  while (!shell.signal.aborted && !mustEnd) {
    const stream = log.stream({ ...toReadOptions(options), ...behind, live: true })
    const end = () => stream(true, () => {})
    shell.onAbort(end)
    const timer = setInterval(() => {
      mustEnd ||= isReplaced()
      if (mustEnd) end()
    }, LOOK_MS)
    try {
      await printRecords(shell, noting(stream, (seq) => { behind = place.note(behind, seq) }), options)
      return
    } catch (/** @type {any} */ err) {
      if (mustEnd || shell.signal.aborted) return
      if (isReplaced() || (options.followName && err.code === 'ERR_LOG_REPLACED')) return
      if (err.code !== 'ERR_LOG_SEQ_RETAINED') throw err
      const what = `records of ${log.filename} were dropped before they could be read`
      shell.complain(`millrace: ${escapeControls(what)}; going on with the oldest that are left\n`)
      behind = { ...behind, onRetained: 'skip' }
    } finally {
      clearInterval(timer)
    }
  }
}

/**
 * @param {AsyncIterable<any>} stream
 * @param {(seq: any) => void} note
 */
async function * noting (stream, note) {
  for await (const item of stream) {
    yield item
    note(item.seq)
  }
}
