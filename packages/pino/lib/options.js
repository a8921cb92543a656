'use strict'
// Checks the options of a destination: some are its own, and the others are those of the log writer.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { lines, optionNames: writerNames, parseOptions: parseWriterOptions } = require('@millrace/log-writer')
const { SlotLog, slotOptionNames } = require('@millrace/merged-log')
const { SegmentedLog, optionNames: segmentedNames } = require('@millrace/segmented-log')
const { createRedactor } = require('./patterns')
const { Tee } = require('./tee')

// A log of a program must not fill the disk because nobody thought of it.
const SIZE_MAX = 2 ** 30
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }
const LOCK_TIMEOUT_MS = 2000
const SLOT_COUNT = 64
// First those of the destination itself. A line is stored as it is, and a drop is an event.
const NAMES = ['log', 'slots', 'redact', 'censor', 'tee', ...writerNames.filter((name) => !['codec', 'onDrop'].includes(name))]
const OF_FOLDER = segmentedNames.filter((name) => name !== 'codec')
const OF_SLOT = slotOptionNames.filter((name) => !['codec', 'slots'].includes(name))
const ELSEWHERE = {
  log: OF_FOLDER,
  batch: ['bytes', 'count', 'ageMs'],
  queue: ['bytes', 'count'],
  'the options of pino': ['name', 'base', 'timestamp', 'formatters', 'serializers', 'customLevels', 'useOnlyCustomLevels', 'mixin',
    'messageKey', 'errorKey', 'nestedKey', 'hooks', 'transport', 'msgPrefix', 'depthLimit', 'edgeLimit', 'enabled', 'safe', 'crlf']
}
/** The folder can be opened again at once: a new segment lies after what cannot be written. */
const REOPENED = new Set(['ERR_LOG_POISONED', 'ERR_FILE_MOVED', 'ERR_FILE_NOT_UNDONE', 'ERR_LOG_READ_ONLY',
  'ERR_LOG_CORRUPT', 'ERR_LOG_FULL'])

/**
 * @typedef {import('@millrace/log-writer').LogWriterOptions} LogWriterOptions
 * @typedef {import('@millrace/log-writer').Log} Log
 * @typedef {import('./patterns').PatternName} PatternName
 * @typedef {Omit<import('@millrace/segmented-log').SegmentedLogOptions, 'codec'>} FolderOptions
 */

/**
 * The options of a log writer, except `codec` and `onDrop`, and those below. `onReport` takes the place of the event
 * `error`.
 * @typedef {object} OwnOptions
 * @property {FolderOptions} [log]  options of the segmented log, if the target is a folder: when segments begin, and
 *   when the oldest go. All files in the folder together are never larger than `maxSize`. If you give `log` without
 *   `maxSize`, the default stays; `{ maxSize: undefined }` keeps all. With `slots` it has the options of a slot;
 *   `{ maxSize: 2 ** 30 }` by default
 * @property {boolean | number} [slots]  lets several processes write the folder, such as the workers of a cluster: so
 *   many at most, or 64 with true. Each gets a `SlotLog`, and `maxSize` is for all together. With false, one process
 *   at a time writes the folder, and the lines of a second one go to standard error until the first one ends. To change
 *   it, give another folder, or move the segments into a slot, as the error (ERR_LOG_UNKNOWN_FORMAT) says; false by
 *   default
 * @property {Record<string, number>} [levels]  names and numbers of levels of your own, beside those of pino. Those of
 *   pino's `customLevels` are known without it. Each is treated as the standard level at or below it
 * @property {boolean} [handleSignals]  true: each line is in the file when the call returns, so a signal loses no line,
 *   not even SIGKILL. False: lines are written in batches, except those of the levels that `eager` names. The
 *   destination listens to no signal; only as process 1 of a container, where a signal without a listener does nothing,
 *   it ends the process at SIGTERM, SIGINT and SIGHUP, unless the program listens itself. True by default
 * @property {boolean | PatternName[]} [redact]  secrets to find by their form, anywhere in a line: true for all kinds,
 *   or a list of some. Paths, such as `req.headers.cookie`, belong in pino's own option `redact`; false by default
 * @property {string} [censor]  what stands in place of a secret; `'[Redacted]'` by default
 * @property {import('./tee').TeeTarget} [tee]  where lines go besides: `'stdout'`, `'stderr'`, `'pretty'` (standard
 *   output, for people) or a Writable. If its reader is behind by more than 1 MiB, or is gone, lines are left out
 *   there, and `teeSkippedCount` counts them. On Linux, Node.js writes to a pipe synchronously: then a slow reader
 *   makes the program wait
 */

/**
 * @typedef {OwnOptions & Omit<LogWriterOptions, 'codec' | 'levels' | 'onDrop' | 'handleSignals'>} DestinationOptions
 */

/**
 * @typedef {object} Target
 * @property {Log} log
 * @property {boolean} isOwned  whether the destination closes it
 * @property {LogWriterOptions['replace']} [replace]
 */

/**
 * @typedef {object} ParsedOptions
 * @property {FolderOptions | undefined} log
 * @property {number | undefined} slots  undefined if only one process writes
 * @property {LogWriterOptions & { levels: Record<string, number> }} writer
 * @property {((line: string) => string) | null} redact
 * @property {Tee | null} tee
 */

/**
 * Refuses names that are not known.
 * @param {DestinationOptions} [options]
 * @param {string} [call]  that they were given to
 */
function checkDestination (options = {}, call = 'destination') {
  checkOptions(call, options, NAMES, ELSEWHERE)
  const { log = {}, slots } = options
  if (log === null || typeof log !== 'object') throw misuse(`${call}: log must be an object of options, got ${reasonOf(log)}`)
  const isFolder = slots === undefined || slots === false
  checkOptions(`${call}: log`, log, isFolder ? OF_FOLDER : OF_SLOT, {
    keep: ['where'],
    [`the options of ${call}, beside log`]: NAMES,
    ...(!isFolder && { 'a folder that only one process writes': OF_FOLDER })
  })
}

/**
 * Checks the options before anything is opened.
 * @param {DestinationOptions} [options]
 * @returns {ParsedOptions}
 */
function parseOptions (options = {}) {
  checkDestination(options)
  const { log, slots = false, levels = {}, handleSignals = true, redact = false, censor, tee, ...writer } = options
  const all = { ...writer, handleSignals, levels: { ...LEVELS, ...levels } }
  parseWriterOptions(all, 'destination')
  return {
    log,
    slots: parseSlots(slots),
    writer: all,
    redact: redact === false ? null : createRedactor(redact === true ? undefined : redact, censor).redact,
    tee: tee === undefined ? null : new Tee(tee)
  }
}

/** @param {unknown} slots @throws {TypeError} ERR_INVALID_ARGUMENT */
function parseSlots (slots) {
  if (slots === false) return undefined
  if (slots === true) return SLOT_COUNT
  if (Number.isInteger(slots) && Number(slots) >= 1) return Number(slots)
  throw misuse(`destination: slots must be true, false or a whole number, got ${reasonOf(slots)}`)
}

/**
 * @param {unknown} target  a folder, or a Log
 * @param {Pick<ParsedOptions, 'log' | 'slots'>} options
 * @returns {Target}
 */
function openTarget (target, { log: options, slots }) {
  if (typeof target !== 'string' && !(target instanceof URL)) return takeLog(target, { log: options, slots })
  const all = { maxSize: SIZE_MAX, ...options, codec: lines }
  const open = (/** @type {FolderOptions} */ more = {}) => slots === undefined
    ? SegmentedLog(target, { ...all, ...more })
    // Another slot is free, so there is no lock to wait for.
    : SlotLog(target, { ...all, slots })
  const log = open()
  return { log, isOwned: true, replace: createReplace(log, open) }
}

/** @type {(target: unknown, options: Record<string, unknown>) => Target} */
function takeLog (target, options) {
  const log = /** @type {any} */ (target)
  if (typeof log?.append !== 'function') throw misuse(`destination: expected a folder or a Log, got ${describeTarget(target)}`)
  const misplaced = Object.keys(options).find((name) => options[name] !== undefined)
  if (misplaced) throw misuse(`destination: the option ${misplaced} is for a folder; a Log has its own options`)
  if (typeof log.openAgain !== 'function') return { log, isOwned: false }
  return { log, isOwned: false, replace: createReplace(log, () => log.openAgain()) }
}

/** @param {unknown} target */
function describeTarget (target) {
  if (target === null || typeof target !== 'object') return reasonOf(target)
  return `an object with ${Object.keys(target).join(', ') || 'no members'}`
}

/**
 * Closes the log that cannot be used any more, and opens one in the same place.
 * @param {Log} first
 * @param {(more: FolderOptions) => Log} open
 * @returns {NonNullable<LogWriterOptions['replace']>}
 */
function createReplace (first, open) {
  let log = first
  return async (err, attempt) => {
    const isFirst = attempt === 1
    // The same again would fail in the same way: in a while. Until then the lines are on standard error.
    if (isFirst && !REOPENED.has(String(/** @type {Error & { code?: string }} */ (err).code))) return null
    // Its failure is reported by the writer.
    await new Promise((resolve) => log.close(resolve))
    // The lock of the log that was given up may be released later.
    log = open(isFirst ? { lockTimeout: LOCK_TIMEOUT_MS } : {})
    return log
  }
}

/**
 * @param {{ withinMs: number, forwarder?: { drained: (options: any) => Promise<unknown> } }} options  of `drain`
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseDrain (options) {
  const { withinMs, forwarder } = options ?? {}
  if (typeof withinMs === 'number' && withinMs >= 0) return { withinMs, forwarder }
  throw misuse(`drain: withinMs must be a number of ms, got ${typeof withinMs === 'number' ? withinMs : typeof withinMs}`)
}

exports.checkDestination = checkDestination
exports.openTarget = openTarget
exports.parseDrain = parseDrain
exports.parseOptions = parseOptions
