'use strict'
// Checks the options of a writer and fills in the defaults.

const { checkNames, misuse } = require('@millrace/errors')
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
  'the options of the log': ['maxSize', 'maxAge', 'maxCount', 'segmentSize', 'segmentAge', 'segmentDay', 'compress', 'keep', 'fsync',
    'cache', 'storage', 'maxRecordSize', 'maxPendingSize', 'lockTimeout', 'slots', 'mode']
})

/** @typedef {'write-through' | 'wait' | 'drop-new' | 'drop-old'} WhenFull */
/** @typedef {'written' | 'synced'} Eagerness */

/**
 * @typedef {object} LogWriterOptions
 * @property {{ count?: number | undefined, bytes?: number | undefined, ageMs?: number | undefined }} [batch]  when
 *   waiting records are written: at so many (512), so many bytes (64 KiB), or so long after the oldest (100 ms)
 * @property {{ count?: number | undefined, bytes?: number | undefined }} [queue]  how much may wait in memory; 8192
 *   records and 1 MiB by default
 * @property {WhenFull} [whenFull]  what `write` does when the queue is full; `write-through` by default
 * @property {string[]} [protect]  levels that are never dropped: error and fatal by default
 * @property {Record<string, Eagerness>} [eager]  levels whose records are in the kernel (written) or on the disk
 *   (synced) before `write` returns. By default error is written and fatal is synced
 * @property {string | number} [level]  records below it are filtered; trace by default
 * @property {Record<string, number>} [levels]  names and numbers; those of pino by default
 * @property {boolean} [handleSignals]  whether a signal takes no record: each one is in the kernel before `write`
 *   returns; false by default
 * @property {{ encode: (value: any) => Uint8Array | string }} [codec]  for records that are neither strings nor bytes;
 *   JSON by default
 * @property {(err: Error, attempt: number) => any} [replace]  returns a Log to use in place of one that cannot be
 *   used, a promise of it, or null. It is called again, at longer and longer intervals, until a log can be used
 * @property {(err: Error & { code?: string }) => void} [onReport]  gets each failure. By default the first one with
 *   each code is a warning
 * @property {(record: Uint8Array, level: string) => void} [onDrop]  gets each record that is dropped
 * @property {StandardError} [standardError]  takes what no log takes; `process.stderr` by default
 */

/**
 * @typedef {object} StandardError
 * @property {(bytes: Uint8Array) => unknown} write
 * @property {(event: 'error', listener: () => void) => unknown} [on]
 */

/**
 * @param {LogWriterOptions & Record<string, unknown>} [options]
 * @param {string} [call]  that they were given to
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (options = {}, call = 'LogWriter') {
  if (options === null || typeof options !== 'object') throw misuse(`${call}: expected options, got ${String(options)}`)
  checkNames(call, options, optionNames, ELSEWHERE)
  const { whenFull = 'write-through', handleSignals = false } = options
  /** @type {{ encode: (value: any) => Uint8Array | string }} */
  const codec = options.codec ?? jsonCodec
  if (!WHEN_FULL.includes(whenFull)) {
    throw misuse(`${call}: whenFull must be one of ${WHEN_FULL.join(', ')}, got ${String(whenFull)}`)
  }
  if (typeof handleSignals !== 'boolean') {
    throw misuse(`${call}: handleSignals must be true or false, got ${String(handleSignals)}`)
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
  const isKnown = (/** @type {string} */ name) => Object.hasOwn(levels, name)
  parseLevelNumbers(call, levels)
  for (const [name, how] of Object.entries(eager)) {
    if (!EAGERNESS.includes(how)) throw misuse(`${call}: eager.${name} must be written or synced, got ${String(how)}`)
  }
  // The defaults name levels that other tables of levels may not have.
  const named = [...eager === EAGER ? [] : Object.keys(eager), ...protect === PROTECT ? [] : protect]
  const unknown = named.find((name) => !isKnown(name))
  if (unknown !== undefined) throw misuse(`${call}: there is no level ${unknown}; add it to the option levels`)
  /** @type {Eagerness | null} */
  const eagerByDefault = handleSignals ? 'written' : null
  return { levels, eager, eagerByDefault, protect, level }
}

/** @type {(call: string, levels: Record<string, number>) => Record<string, number>} */
function parseLevelNumbers (call, levels) {
  for (const [name, number] of Object.entries(levels)) {
    if (!Number.isFinite(number)) throw misuse(`${call}: levels.${name} must be a number, got ${String(number)}`)
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
  if (given === null || typeof given !== 'object') throw misuse(`${name} must be an object, got ${String(given)}`)
  checkNames(name, given, Object.keys(defaults))
  /** @type {any} */
  const limits = { ...defaults }
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue
    if (typeof value !== 'number' || !(value >= 1)) throw misuse(`${name}.${key} must be 1 or more, got ${String(value)}`)
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
