'use strict'
// Checks the options of a forwarder, and fills in their defaults.

const { fileStorage, parseFileMode, resolvePath, withFileMode } = require('@millrace/block-file')
const { LogError, TIMER_MS_MAX, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { findTime } = require('@millrace/where')

const KNOWN = ['sink', 'name', 'path', 'start', 'batch', 'backoff', 'attempts', 'fsync', 'refused', 'timeOf', 'lagMs', 'onReport', 'unref',
  'mode', 'storage']
const BATCH = { count: 500, size: 2 ** 20, ageMs: 1000 }
const BACKOFF = { minMs: 200, maxMs: 60_000 }
const LAG_MS = 1000
const ELSEWHERE = {
  batch: Object.keys(BATCH),
  backoff: Object.keys(BACKOFF),
  'the options of the sink': ['url', 'headers', 'gzip', 'timeoutMs', 'format', 'map', 'resource']
}

/**
 * A record as a sink gets it. `value` is what the codec of the log gives: bytes, if the log was opened without one.
 * @template [T=any]
 * @typedef {{ seq: number, value: T }} SinkRecord
 */

/**
 * @typedef {object} SendContext
 * @property {string} key  names this batch, and no other one: `<keyPrefix>-<first seq>-<last seq>`. Where the batch
 *   ends is noted in the cursor before it is sent. If the process is killed, the same batch comes again with the same
 *   key. After a power cut, or with a damaged cursor, earlier batches come again, perhaps divided in another way
 * @property {string} log  the id of the log. A log in an offset framing has none: then its cursor makes one up
 * @property {string} keyPrefix  the id; of a log of lines also its epoch, because a seq may get another line there. The
 *   prefix and the seq together name a record: a sink that must take each record once remembers both
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
 * @typedef {(records: Array<SinkRecord<T>>, context: SendContext) => unknown} Send  takes a batch. It may return a
 *   promise. If it succeeds, all records are forwarded; if it gives `{ refused: [{ index, message }] }`, these records
 *   are set aside. An answer of `fetch` that is not 2xx counts as thrown. What it throws decides what follows:
 *   `refused(message)` halves the batch until the refused records are known, and sets these aside; `tooLarge(message)`
 *   halves the batch, and makes smaller ones from then on; `unavailable(message, { retryAfterMs })` waits at least that
 *   long, then sends the same batch again; anything else waits as `backoff` says, then sends the same batch again
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
 * @property {Sink<T> | Send<T>} sink  where the records go: a function, or what `httpSink`, `otlpSink` or
 *   `writableSink` makes. Required
 * @property {string | undefined} [name]  the name of the cursor: 1 to 64 letters, digits, `_` and `-`. Several
 *   forwarders of one log need different names; `'default'` by default
 * @property {string | URL | undefined} [path]  where the forwarder keeps its files, `<path>.cursor` and
 *   `<path>.refused`. Remove the cursor to forward everything again; `<log.filename>.<name>` by default
 * @property {'first' | 'next' | undefined} [start]  where a forwarder without a cursor begins: at the first record of
 *   the log, or with the next one that is appended; `'first'` by default
 * @property {{ count?: number, size?: number, ageMs?: number } | undefined} [batch]  a batch is sent when it has
 *   `count` records or `size` bytes, or when its first record has waited for `ageMs`. A larger record is a batch of
 *   its own. The forwarder holds one or a few batches in memory: at most `size` bytes, or 1 MiB if that is more, as
 *   they are in the log; `{ count: 500, size: 2 ** 20, ageMs: 1000 }` by default
 * @property {{ minMs?: number, maxMs?: number } | undefined} [backoff]  how long to wait after a failed try. The time
 *   is random, between 0 and a limit that starts at `minMs` and doubles with each failure in a row up to `maxMs`. If
 *   the sink said how long to wait, it is at least that long, but at most a day; `{ minMs: 200, maxMs: 60000 }` by
 *   default
 * @property {number | undefined} [attempts]  After so many failed tries of a batch the forwarder gives up on it, as if
 *   the sink had refused it: it halves the batch, tries each half as often, and sets aside the records that fail alone.
 *   Then it goes on; the order stays. `stats().refused` counts them, and they can be sent again later. An outage that
 *   is longer than the tries sets good records aside, too. A restart counts anew. Infinity by default: it never gives
 *   up
 * @property {'always' | 'interval' | undefined} [fsync]  when the cursor goes to stable storage: after every batch, or
 *   about once a second and at `close`. What is not synced comes again after a power cut; `'interval'` by default
 * @property {object | import('./refused-records').OnRefused | undefined} [refused]  where refused records go: a log,
 *   or a function that gets each entry. By default a log of its own, `<path>.refused`, which appears with the first
 *   one
 * @property {((value: T) => number | undefined) | false | undefined} [timeOf]  gives the time of a record, in ms since
 *   1970, for the age in `lag`. By default the time is found where a logger writes it; false: no age
 * @property {number | undefined} [lagMs]  how often the backlog is counted, in ms; 0 never. Counting reads the
 *   backlog once, without decoding it; 1,000 by default
 * @property {((report: import('./reports').Report) => void) | undefined} [onReport]  gets the reports. Without it they
 *   become warnings of the process with the type `ForwarderWarning`: `retry` for the first failure in a row, `refused`
 *   at most once in 10 s, and `recovered` never
 * @property {boolean | undefined} [unref]  true lets the process end while the forwarder waits: what is left is
 *   forwarded after the next start. False by default
 * @property {number | string | undefined} [mode]  the mode of the forwarder's files when they are made, such as 0o640,
 *   less the umask; 0o600 by default, and 0o644 for the record of the cursor's lock
 * @property {import('@millrace/block-file').Storage | undefined} [storage]  replaces the file system, for the files of
 *   the forwarder
 */

/**
 * @param {any} log
 * @param {ForwarderOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (log, options) {
  checkLog('Forwarder', log, ['scan', 'stream', 'since'])
  checkOptions('Forwarder', options, KNOWN, ELSEWHERE)
  const {
    sink, name = 'default', path, start = 'first', batch, backoff, attempts = Infinity, fsync = 'interval', refused,
    timeOf = readTime,
    lagMs = LAG_MS, onReport = null, unref = false
  } = options
  const storage = parseStorage(options)
  checkAll({ name, path, start, fsync, refused, timeOf, lagMs, onReport, unref })
  return {
    sink: parseSink(sink),
    name,
    /** What tells its cursor from that of another forwarder. @type {'name' | 'path'} */
    key: path === undefined ? 'name' : 'path',
    path: /** @type {string} */ (resolvePath(path ?? `${log.filename}.${name}`, storage)),
    start,
    batch: parseBatch(batch),
    backoff: parseBackoff(backoff),
    attempts: parseAttempts(attempts),
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
function checkAll ({ name, path, start, fsync, refused, timeOf, lagMs, onReport, unref }) {
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw misuse(`Forwarder: name must be 1 to 64 letters, digits, "_" and "-", got ${reasonOf(name)}`)
  }
  if (path !== undefined && !(path instanceof URL) && (typeof path !== 'string' || path === '')) {
    throw misuse(`Forwarder: path must be a path or a file: URL, got ${reasonOf(path)}`)
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
}

/** @param {{ drain?: number | undefined }} options  of `close`  @returns {number}  in ms */
function parseClose (options) {
  checkOptions('close', options, ['drain'])
  const { drain = 0 } = options
  const isTime = typeof drain === 'number' && drain >= 0
  if (!isTime) throw misuse(`close: drain must be a number of ms, got ${reasonOf(drain)}`)
  return drain
}

/** @param {{ unref?: boolean | undefined }} options  of `drained`  @returns {boolean} */
function parseDrained (options) {
  checkOptions('drained', options, ['unref'])
  const { unref = false } = options
  if (typeof unref !== 'boolean') throw misuse(`drained: unref must be true or false, got ${reasonOf(unref)}`)
  return unref
}

/** @param {ForwarderOptions} options */
function parseStorage ({ mode, storage = fileStorage }) {
  if (typeof storage?.open !== 'function') throw misuse('Forwarder: storage must have the function open')
  return mode === undefined ? storage : withFileMode(storage, parseFileMode('Forwarder', mode))
}

/**
 * Slots have no order of seqs in common, which a cursor needs.
 * @type {(call: string, log: any, needed: readonly string[]) => void}
 * @throws ERR_NOT_SUPPORTED, ERR_INVALID_ARGUMENT
 */
function checkLog (call, log, needed) {
  if (typeof log?.eachSlot === 'function') {
    throw new LogError('ERR_NOT_SUPPORTED', `${call}: the slots of a MergedLog have no order of seqs in common; take each one's ` +
      'log: log.eachSlot((log, slot) => Forwarder(log, …)), with a path or a name for each', { path: log.filename })
  }
  if (needed.every((name) => typeof log?.[name] === 'function')) return
  const hint = log?.slot === undefined ? '' : '; that of a SlotLog is its property log, once it is ready'
  throw misuse(`${call}: expected a log${hint}`)
}

/** @param {any} sink  @returns {Sink} */
function parseSink (sink) {
  if (typeof sink === 'function') return { send: sink }
  if (typeof sink?.send === 'function') return sink
  throw misuse('Forwarder: sink must be a function, or made by one of the functions of this package')
}

/** @param {ForwarderOptions['batch']} given */
function parseBatch (given = {}) {
  checkOptions('Forwarder: batch', given, Object.keys(BATCH))
  const { count = BATCH.count, size = BATCH.size, ageMs = BATCH.ageMs } = given
  checkNumber('batch.count', count, 1, 1_000_000)
  checkNumber('batch.size', size, 1, 2 ** 30)
  checkNumber('batch.ageMs', ageMs, 0, TIMER_MS_MAX)
  return { count, size, ageMs }
}

/** @param {ForwarderOptions['backoff']} given */
function parseBackoff (given = {}) {
  checkOptions('Forwarder: backoff', given, Object.keys(BACKOFF))
  const { minMs = BACKOFF.minMs, maxMs = BACKOFF.maxMs } = given
  checkNumber('backoff.minMs', minMs, 1, TIMER_MS_MAX)
  checkNumber('backoff.maxMs', maxMs, minMs, TIMER_MS_MAX)
  return { minMs, maxMs }
}

/** @param {unknown} attempts  @returns {number} */
function parseAttempts (attempts) {
  if (attempts !== Infinity) checkNumber('attempts', attempts, 1, Number.MAX_SAFE_INTEGER)
  return Number(attempts)
}

/** Wherever a logger writes it. @type {(value: any) => number | undefined} */
function readTime (value) {
  return findTime(value)?.ms
}

/** @type {(name: string, value: unknown, allowed: unknown[]) => void} */
function checkOneOf (name, value, allowed) {
  if (!allowed.includes(value)) throw misuse(`Forwarder: ${name} must be one of ${allowed.join(', ')}, got ${reasonOf(value)}`)
}

/** @type {(name: string, value: unknown, none: unknown) => void} */
function checkFunction (name, value, none) {
  if (value !== none && typeof value !== 'function') throw misuse(`Forwarder: ${name} must be a function, got ${reasonOf(value)}`)
}

/** @type {(name: string, value: unknown, min: number, max: number) => void} */
function checkNumber (name, value, min, max) {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max) return
  throw misuse(`Forwarder: ${name} must be a whole number from ${min} to ${max}, got ${reasonOf(value)}`)
}

exports.parseClose = parseClose
exports.parseDrained = parseDrained
exports.checkLog = checkLog
exports.parseOptions = parseOptions
