'use strict'
// Checks the options of a forwarder, and fills in their defaults.

const { fileStorage, resolvePath } = require('@millrace/block-file')
const { checkNames, misuse } = require('@millrace/errors')
const { findTime } = require('@millrace/where')

const KNOWN = ['sink', 'name', 'path', 'start', 'batch', 'backoff', 'fsync', 'refused', 'timeOf', 'lagMs', 'onReport', 'unref',
  'storage']
const BATCH = { count: 500, size: 2 ** 20, ageMs: 1000 }
const BACKOFF = { minMs: 200, maxMs: 60_000 }
const LAG_MS = 1000
const ELSEWHERE = {
  batch: Object.keys(BATCH),
  backoff: Object.keys(BACKOFF),
  'the options of the sink': ['url', 'headers', 'gzip', 'timeoutMs', 'format', 'map', 'resource']
}
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * @template [T=any]
 * @typedef {{ seq: number, value: T }} SinkRecord
 */

/**
 * @typedef {object} SendContext
 * @property {string} key  names this batch, and no other one
 * @property {string} log  the id of the log, or of the cursor if the log has none. With the seq it names a record
 * @property {AbortSignal} signal  aborted when the forwarder is closed
 */

/**
 * What a sink may return.
 * @typedef {object} Answer
 * @property {Array<{ index: number, message?: string }>} [refused]  records of the batch, by their index
 * @property {number} [refusedCount]  from a sink that knows only how many
 * @property {string} [message]  why
 * @property {object} [state]  is noted in the cursor together with this batch: at most some hundred bytes of JSON
 * @property {Begin} [begin]  instead of all others: the sink has lost what it accepted, and took nothing of this batch
 * @typedef {Answer | void} Accepted
 *
 * @typedef {object} Begin  where a sink wants the forwarder to go on
 * @property {number} seq  of the last record that the sink has; -1 for none
 * @property {object | null} state
 * @property {string | null} problem  why that is not where the cursor is; null if nothing is wrong
 *
 * @typedef {object} BeginContext
 * @property {string} log  the id of the log, or of the cursor
 * @property {number} seq  of the last record that is done with
 * @property {object | null} state  that was noted with it
 * @property {'first' | 'next'} start  the option
 * @property {boolean} isNew  whether the cursor has passed nothing yet
 * @property {AbortSignal} signal
 */

/**
 * @template [T=any]
 * @typedef {(records: Array<SinkRecord<T>>, context: SendContext) => unknown} Send  returns an Accepted or a promise of
 *   one
 */

/**
 * @template [T=any]
 * @typedef {object} Sink
 * @property {Send<T>} send
 * @property {(context: BeginContext) => Promise<Begin>} [begin]  called before the first batch, and after the log has
 *   lost its end: for a sink that knows what it has
 * @property {() => Promise<Begin | null>} [check]  called every few seconds while there is nothing to send: whether the
 *   sink has lost what it accepted
 * @property {() => unknown} [sync]  makes what was accepted durable, before the cursor is made durable
 * @property {(err: any) => boolean} [isFatal]  whether no other try can help: the forwarder then stops
 * @property {() => unknown} [close]
 */

/**
 * @template [T=any]
 * @typedef {object} ForwarderOptions
 * @property {Sink<T> | Send<T>} sink
 * @property {string | undefined} [name]  of the cursor; 'default' by default
 * @property {string | URL | undefined} [path]  of the files, without their endings; `<log.filename>.<name>` by default
 * @property {'first' | 'next' | undefined} [start]  where to begin without a cursor
 * @property {{ count?: number, size?: number, ageMs?: number } | undefined} [batch]
 * @property {{ minMs?: number, maxMs?: number } | undefined} [backoff]
 * @property {'always' | 'interval' | undefined} [fsync]
 * @property {object | import('./refused-records').OnRefused | undefined} [refused]  a log or a function
 * @property {((value: T) => number | undefined) | false | undefined} [timeOf]  ms since 1970
 * @property {number | undefined} [lagMs]
 * @property {((report: import('./reports').Report) => void) | undefined} [onReport]
 * @property {boolean | undefined} [unref]
 * @property {import('@millrace/block-file').Storage | undefined} [storage]
 */

/**
 * @param {any} log
 * @param {ForwarderOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (log, options) {
  if (typeof log?.scan !== 'function' || typeof log.stream !== 'function') throw misuse('Forwarder: expected a log')
  checkObject('Forwarder', options, KNOWN, ELSEWHERE)
  const {
    sink, name = 'default', path, start = 'first', batch, backoff, fsync = 'interval', refused, timeOf = readTime,
    lagMs = LAG_MS, onReport = null, unref = false, storage = fileStorage
  } = options
  checkAll({ name, path, start, fsync, refused, timeOf, lagMs, onReport, unref, storage })
  return {
    sink: parseSink(sink),
    name,
    path: /** @type {string} */ (resolvePath(path ?? `${log.filename}.${name}`, storage)),
    start,
    batch: parseBatch(batch),
    backoff: parseBackoff(backoff),
    fsync,
    refused,
    timeOf,
    lagMs,
    onReport,
    unref,
    storage
  }
}

/** @param {any} options  but those that have parts */
function checkAll ({ name, path, start, fsync, refused, timeOf, lagMs, onReport, unref, storage }) {
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw misuse(`Forwarder: name must be 1 to 64 letters, digits, "_" and "-", got ${String(name)}`)
  }
  if (path !== undefined && !(path instanceof URL) && (typeof path !== 'string' || path === '')) {
    throw misuse(`Forwarder: path must be a path or a file: URL, got ${String(path)}`)
  }
  checkOneOf('start', start, ['first', 'next'])
  checkOneOf('fsync', fsync, ['always', 'interval'])
  checkOneOf('unref', unref, [true, false])
  checkNumber('lagMs', lagMs, 0, TIMER_MS_MAX)
  checkFunction('onReport', onReport, null)
  checkFunction('timeOf', timeOf, false)
  if (refused !== undefined && typeof refused !== 'function' && typeof refused?.append !== 'function') {
    throw misuse('Forwarder: refused must be a log or a function')
  }
  if (typeof storage?.open !== 'function') throw misuse('Forwarder: storage must have the function open')
}

/** @param {any} sink  @returns {Sink} */
function parseSink (sink) {
  if (typeof sink === 'function') return { send: sink }
  if (typeof sink?.send === 'function') return sink
  throw misuse('Forwarder: sink must be a function, or made by one of the functions of this package')
}

/** @param {ForwarderOptions['batch']} given */
function parseBatch (given = {}) {
  checkObject('Forwarder: batch', given, Object.keys(BATCH))
  const { count = BATCH.count, size = BATCH.size, ageMs = BATCH.ageMs } = given
  checkNumber('batch.count', count, 1, 1_000_000)
  checkNumber('batch.size', size, 1, 2 ** 30)
  checkNumber('batch.ageMs', ageMs, 0, TIMER_MS_MAX)
  return { count, size, ageMs }
}

/** @param {ForwarderOptions['backoff']} given */
function parseBackoff (given = {}) {
  checkObject('Forwarder: backoff', given, Object.keys(BACKOFF))
  const { minMs = BACKOFF.minMs, maxMs = BACKOFF.maxMs } = given
  checkNumber('backoff.minMs', minMs, 1, TIMER_MS_MAX)
  checkNumber('backoff.maxMs', maxMs, minMs, TIMER_MS_MAX)
  return { minMs, maxMs }
}

/** Wherever a logger writes it. @type {(value: any) => number | undefined} */
function readTime (value) {
  return findTime(value)?.ms
}

/** @type {(what: string, given: object, known: string[], elsewhere?: Record<string, string[]>) => void} */
function checkObject (what, given, known, elsewhere) {
  if (given === null || typeof given !== 'object') throw misuse(`${what}: expected an object, got ${String(given)}`)
  checkNames(what, given, known, elsewhere)
}

/** @type {(name: string, value: unknown, allowed: unknown[]) => void} */
function checkOneOf (name, value, allowed) {
  if (!allowed.includes(value)) throw misuse(`Forwarder: ${name} must be one of ${allowed.join(', ')}, got ${String(value)}`)
}

/** @type {(name: string, value: unknown, none: unknown) => void} */
function checkFunction (name, value, none) {
  if (value !== none && typeof value !== 'function') throw misuse(`Forwarder: ${name} must be a function, got ${String(value)}`)
}

/** @type {(name: string, value: unknown, min: number, max: number) => void} */
function checkNumber (name, value, min, max) {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return
  throw misuse(`Forwarder: ${name} must be a whole number from ${min} to ${max}, got ${String(value)}`)
}

exports.parseOptions = parseOptions
exports.checkObject = checkObject
