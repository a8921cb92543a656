'use strict'
// Checks the options of a writer and fills in the defaults.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')
const { descriptor } = require('./standard-error')

const LEVELS = Object.freeze({ trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 })
const EAGER = Object.freeze({ error: 'written', fatal: 'synced' })
const PROTECT = ['error', 'fatal']
const WHEN_FULL = ['write-through', 'wait', 'drop-new', 'drop-old']
const EAGERNESS = ['written', 'synced']
/** The names of all options. */
const optionNames = Object.freeze(['batch', 'queue', 'whenFull', 'protect', 'eager', 'level', 'levels', 'handleSignals', 'codec', 'replace',
  'onReport', 'onDrop', 'standardError'])

const BATCH = Object.freeze({ count: 512, bytes: 64 * 1024, ageMs: 100 })
const QUEUE = Object.freeze({ count: 8192, bytes: 1024 * 1024 })
/** What belongs elsewhere. */
const ELSEWHERE = Object.freeze({
  batch: Object.keys(BATCH),
  queue: Object.keys(QUEUE),
  'the options of the log': ['maxSize', 'maxAge', 'maxCount', 'segmentSize', 'segmentAge', 'segmentDay', 'compress', 'keep', 'framing', 'fsync',
    'cache', 'storage', 'maxRecordSize', 'maxPendingSize', 'lockTimeout', 'slots', 'mode']
})

/**
 * What `write` does when the queue is full. `'write-through'`: the caller writes all that waits, at once; nothing is
 * dropped, and a fast caller is slowed down to the speed of the disk. `'wait'`: `write` returns false, and the caller
 * should await `drained()`; if it goes on, `write` writes all that waits once twice the limits are reached.
 * `'drop-new'`: drops the new record. `'drop-old'`: drops the oldest record that waits.
 *
 * If the log cannot be written at all, such as on a full disk, `'write-through'` and `'wait'` keep up to twice the
 * limits, and then drop as `'drop-new'` does. While the log is being opened, they keep up to 64 MiB, and the rest goes
 * to standard error.
 * @typedef {'write-through' | 'wait' | 'drop-new' | 'drop-old'} WhenFull
 */

/**
 * What is true of a record of an eager level when `write` returns, if the log is open and can be written. `'written'`:
 * the kernel has it, with all records before it, so it survives SIGKILL. `'synced'`: it survives a power cut.
 * @typedef {'written' | 'synced'} Eagerness
 */

/**
 * @typedef {object} LogWriterOptions
 * @property {{ count?: number | undefined, bytes?: number | undefined, ageMs?: number | undefined }} [batch]  when
 *   waiting records are written: when there are `count`, when they have `bytes`, or when the oldest has waited for
 *   `ageMs`; `{ count: 512, bytes: 64 * 1024, ageMs: 100 }` by default
 * @property {{ count?: number | undefined, bytes?: number | undefined }} [queue]  how much may wait in memory: so many
 *   records, and so many bytes; `{ count: 8192, bytes: 2 ** 20 }` by default
 * @property {WhenFull} [whenFull]  what `write` does when the queue is full; `'write-through'` by default
 * @property {string[]} [protect]  levels whose records are never dropped. Others are dropped for them, or the caller
 *   writes through. If the log cannot be written at all, those that do not fit go to standard error; `['error',
 *   'fatal']` by default
 * @property {Record<string, Eagerness>} [eager]  levels whose records are in the kernel (`'written'`) or on the disk
 *   (`'synced'`) before `write` returns; `{}` for none. `'written'` costs a write of the system for each record,
 *   `'synced'` also a sync. While the log is being opened, eager records wait, too; `{ error: 'written', fatal:
 *   'synced' }` by default
 * @property {string | number} [level]  records below this level are filtered; `'trace'` by default
 * @property {Record<string, number>} [levels]  names and numbers of the levels;
 *   `{ trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 }` by default
 * @property {boolean} [handleSignals]  true makes every level that `eager` does not name `'written'`, so a signal takes
 *   no record, not even SIGKILL. The writer listens to no signal; only as process 1 of a container, where a signal
 *   without a listener does nothing, it ends the process at SIGTERM, SIGINT and SIGHUP, unless the program listens
 *   itself. False by default
 * @property {{ encode: (value: any) => Uint8Array | string }} [codec]  for records that are neither strings nor bytes;
 *   JSON by default
 * @property {(err: Error, attempt: number) => any} [replace]  returns a Log to use in place of one that could not be
 *   opened, or is locked, damaged, poisoned or closed: a Log, a promise of one, or null. `attempt` counts the calls
 *   since a log was written. If it gives null, or five logs in a row fail, records go to standard error, and it is
 *   called again after 100 ms, then at longer intervals up to 5 s, until a log can be used. Without it there is no way
 *   back
 * @property {(err: Error & { code?: string }) => void} [onReport]  gets each failure, and `ERR_LOG_WAS_DIVERTED` when a
 *   log can be used again. By default the first one with each code is a warning of the process
 * @property {(record: Uint8Array, level: string) => void} [onDrop]  gets the bytes and the level of each record that is
 *   dropped
 * @property {StandardError} [standardError]  takes what no log takes. By default the descriptor 2: records are written
 *   to it synchronously. If it is a pipe that nobody reads for a second, records are dropped and counted until somebody
 *   does
 */

/**
 * @typedef {object} StandardError
 * @property {(bytes: Uint8Array) => unknown} write
 * @property {(event: 'error', listener: () => void) => unknown} [on]
 */

/**
 * Checks the options of a log writer, and fills in their defaults.
 * @param {LogWriterOptions & Record<string, unknown>} [options]
 * @param {string} [call]  that they were given to
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (options = {}, call = 'LogWriter') {
  checkOptions(call, options, optionNames, ELSEWHERE)
  const { whenFull = 'write-through', handleSignals = false } = options
  /** @type {{ encode: (value: any) => Uint8Array | string }} */
  const codec = options.codec ?? jsonCodec
  if (!WHEN_FULL.includes(whenFull)) {
    throw misuse(`${call}: whenFull must be one of ${WHEN_FULL.join(', ')}, got ${reasonOf(whenFull)}`)
  }
  if (typeof handleSignals !== 'boolean') {
    throw misuse(`${call}: handleSignals must be true or false, got ${reasonOf(handleSignals)}`)
  }
  if (typeof codec?.encode !== 'function') throw misuse(`${call}: codec must have the function encode`)
  return {
    batch: parseLimits(`${call}: batch`, options.batch, BATCH),
    queue: parseLimits(`${call}: queue`, options.queue, QUEUE),
    whenFull,
    levels: parseLevels(call, options),
    handleSignals,
    codec,
    ...parseHelpers(call, options)
  }
}

/** @param {string} call  @param {LogWriterOptions} options */
function parseLevels (call, { levels = LEVELS, eager = EAGER, protect = PROTECT, level = -Infinity, handleSignals }) {
  const isKnown = (/** @type {unknown} */ name) => typeof name === 'string' && Object.hasOwn(levels, name)
  checkObject(`${call}: eager`, eager)
  parseLevelNumbers(call, levels)
  for (const [name, how] of Object.entries(eager)) {
    if (!EAGERNESS.includes(how)) throw misuse(`${call}: eager.${name} must be written or synced, got ${reasonOf(how)}`)
  }
  if (!Array.isArray(protect)) throw misuse(`${call}: protect must be a list of levels, got ${reasonOf(protect)}`)
  // The defaults name levels that other tables of levels may not have.
  const named = [...eager === EAGER ? [] : Object.keys(eager), ...protect === PROTECT ? [] : protect]
  const index = named.findIndex((name) => !isKnown(name))
  if (index !== -1) throw misuse(`${call}: there is no level ${reasonOf(named[index])}; add it to the option levels`)
  /** @type {Eagerness | null} */
  const eagerByDefault = handleSignals ? 'written' : null
  return { levels, eager, eagerByDefault, protect, level }
}

/** @type {(what: string, value: unknown) => void} */
function checkObject (what, value) {
  if (value === null || typeof value !== 'object') throw misuse(`${what} must be an object, got ${reasonOf(value)}`)
}

/** @type {(call: string, levels: Record<string, number>) => Record<string, number>} */
function parseLevelNumbers (call, levels) {
  checkObject(`${call}: levels`, levels)
  for (const [name, number] of Object.entries(levels)) {
    if (!Number.isFinite(number)) throw misuse(`${call}: levels.${name} must be a number, got ${reasonOf(number)}`)
  }
  return levels
}

/** @param {string} call  @param {LogWriterOptions} options */
function parseHelpers (call, options) {
  const { replace, onReport = warnOnce(), onDrop = () => {}, standardError = descriptor } = options
  if (replace !== undefined && typeof replace !== 'function') throw misuse(`${call}: replace must be a function`)
  if (typeof onReport !== 'function') throw misuse(`${call}: onReport must be a function`)
  if (typeof onDrop !== 'function') throw misuse(`${call}: onDrop must be a function`)
  if (typeof standardError?.write !== 'function') throw misuse(`${call}: standardError must have the function write`)
  return { replace, onReport, onDrop, standardError: standardError === process.stderr ? descriptor : standardError }
}

/**
 * @template {Record<string, number>} Limits
 * @param {string} name
 * @param {Partial<Record<keyof Limits, number | undefined>> | undefined} given
 * @param {Limits} defaults
 * @returns {Limits}
 */
function parseLimits (name, given = {}, defaults) {
  checkOptions(name, given, Object.keys(defaults))
  /** @type {any} */
  const limits = { ...defaults }
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (typeof value !== 'number' || !(value >= 1)) throw misuse(`${name}.${key} must be 1 or more, got ${reasonOf(value)}`)
    limits[key] = value
  }
  return limits
}

/**
 * The default of `onReport`: a warning of the process for the first failure with each code. Once a log can be used
 * again, the next failure is news.
 */
function warnOnce () {
  /** @type {Set<unknown>} */
  const warned = new Set()
  return (/** @type {Error & { code?: string }} */ { message, code }) => {
    if (code === 'ERR_LOG_WAS_DIVERTED') warned.clear()
    else if (warned.has(code)) return
    else warned.add(code)
    process.emitWarning(`a log writer: ${message}`, { type: 'LogWriterWarning', ...(typeof code === 'string' && { code }) })
  }
}

exports.optionNames = optionNames
exports.parseOptions = parseOptions
exports.parseLevelNumbers = parseLevelNumbers
exports.warnOnce = warnOnce
