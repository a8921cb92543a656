'use strict'
// Checks the options, and says what holds without them.

const path = require('node:path')
const { fileStorage, parseFileMode, resolvePath, withFileMode } = require('@millrace/block-file')
const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { checkSegmentedOptions, optionNames } = require('@millrace/segmented-log')
const { parseIndexes } = require('./indexes')
const { recordCodec } = require('./record')

const ACKS = /** @type {const} */ (['buffered', 'written', 'synced'])
/** The server decides the others. */
const LOG_OPTIONS = optionNames.filter((name) => !['codec', 'flags', 'strict', 'maxRecordSize', 'signal'].includes(name))
const MiB = 2 ** 20

/** @type {Readonly<Limits>} */
const LIMITS = Object.freeze({
  bodySize: 8 * MiB,
  inflatedSize: 32 * MiB,
  requestsSize: 128 * MiB,
  batchCount: 50_000,
  recordSize: MiB,
  pendingSize: 32 * MiB,
  logs: 100_000,
  eventsPerDay: 10_000,
  readers: 100,
  liveReaders: 1000,
  scanSize: 256 * MiB,
  scanMs: 5000,
  stallMs: 30_000,
  heartbeatMs: 15_000,
  idempotencyKeys: 1_000_000,
  idempotencyMs: 24 * 3600 * 1000
})

const SERVER = Object.freeze({
  host: /** @type {string} */ ('127.0.0.1'),
  port: 7700,
  connections: 2000,
  headerSize: 16 * 1024,
  requestMs: 30_000,
  idleMs: 75_000,
  graceMs: 5000
})

/**
 * What an answer promises. `'buffered'` (202): the records are in memory, and survive `process.exit` and an uncaught
 * exception. `'written'` (200): they survive SIGKILL. `'synced'` (200): they survive a power cut, if the disk keeps
 * what it has synced. A request gets at least what it asks for: of `?ack=` and `Prefer: ack=`, the stronger one counts,
 * and one that is not known is answered with 400.
 * @typedef {typeof ACKS[number]} Ack
 */

/**
 * @typedef {object} Limits
 * @property {number} bodySize  bytes of a body as it is sent; 8 MiB by default. More is answered with 413
 * @property {number} inflatedSize  bytes of a body once it is unpacked; 32 MiB by default. More is answered with 413
 * @property {number} requestsSize  bytes that all requests together may hold in memory; 128 MiB by default. More is
 *   answered with 503
 * @property {number} batchCount  records of a request; 50,000 by default. More is answered with 413
 * @property {number} recordSize  bytes of a record; 1 MiB by default. More is answered with 413; of an OTLP request,
 *   only this record is not stored
 * @property {number} pendingSize  bytes of one log that may wait to be written; 32 MiB by default. More is answered
 *   with 503
 * @property {number} logs  logs in the folder; 100,000 by default. A request that would make another one is answered
 *   with 403
 * @property {number} eventsPerDay  different events that a day may have, by source and event; 10,000 by default. Others
 *   are answered with 403 and the code `too_many_events`
 * @property {number} readers  requests that read a range at the same time; 100 by default. More is answered with 503
 * @property {number} liveReaders  live streams; 1,000 by default. A further one is told to come back later
 * @property {number} scanSize  bytes that one reading request may read before its answer ends with the reason `budget`;
 *   256 MiB by default
 * @property {number} scanMs  ms that one reading request may take before its answer ends with the reason `budget`;
 *   5,000 by default
 * @property {number} stallMs  ms after which a reader that takes nothing is disconnected; 30,000 by default
 * @property {number} heartbeatMs  ms after which a live stream without events gets an event `cursor`; 15,000 by default
 * @property {number} idempotencyKeys  how many idempotency keys are remembered at most; 1,000,000 by default
 * @property {number} idempotencyMs  ms for which a key is remembered at least, which begin anew when the server starts,
 *   for the keys whose records the log still has; 24 hours by default
 */

/**
 * @typedef {{ count: number, windowMs: number }} Rate
 * @typedef {import('@millrace/segmented-log').SegmentedLogOptions} SegmentedLogOptions
 * @typedef {Omit<SegmentedLogOptions, 'codec' | 'flags' | 'strict' | 'maxRecordSize' | 'signal'>} LogOptions
 * @typedef {any} Log  a segmented log of `recordCodec`
 * @typedef {{ base: number, path: string, created: Date }} Segment
 */

/**
 * @typedef {object} IngestOptions
 * @property {string | URL} folder  the folder of the logs. It must be on a local disk; one server owns it. Required
 * @property {Ack} [ack]  what is acknowledged if the client does not ask; `'written'` by default
 * @property {Ack} [floor]  the least that is acknowledged, whatever the client asks; `'buffered'` by default
 * @property {number} [bufferMs]  for how long a buffered record waits to be written, in ms; 50 by default
 * @property {LogOptions} [log]  options of each segmented log: when segments begin and when they are dropped. `{
 *   segmentDay: 'UTC' }` by default, so logs grow without a limit until you give `maxSize` or `maxAge`. `mode` is for
 *   all files in the folder but `keys.json`
 * @property {boolean} [dictionary]  true stores repeated texts once, in segments that begin from then on; clients see
 *   no difference. False by default
 * @property {import('./indexes').IndexOption | null} [index]  which logs have an index, of which fields of their
 *   values: `{ orders: ['user.id', { path: 'price', range: true }], otlp: true }`; `true` is for logs of OpenTelemetry:
 *   trace id, severity and service. Or texts, as `millrace serve` takes them: `['orders:user.id', 'otlp']`. A read with
 *   `where` uses it. Null, the default: none
 * @property {number} [openLogs]  how many logs are open at most; the others are opened when they are used. 100 by
 *   default
 * @property {number} [cache]  bytes, shared by all open logs; 32 MiB by default
 * @property {Partial<Limits>} [limits]  what requests may take
 * @property {Rate | null} [rate]  how many requests a key, or an address if there are no keys, may send in `windowMs`.
 *   More is answered with 429, and all answers have `RateLimit` headers. Null, the default: no limit
 * @property {string | null} [keysFile]  the file of the API keys; `keys.json` in the folder by default
 * @property {boolean} [requireKeys]  true lets nobody in without a key, also if the file of keys is missing. False by
 *   default: then no key is needed while there is no file
 * @property {string[] | null} [hosts]  names of the server, as `Host` gives them, without a port. Without keys and
 *   without names, only requests to names of the loopback are served
 * @property {(err: Error, log: string) => void} [onReport]  gets failures of the disk. By default they are warnings of
 *   the process
 */

/**
 * A destination for pino, such as one of `@millrace/pino`, or a logger of pino.
 * @typedef {{ write: (line: string) => unknown } | import('fastify').FastifyBaseLogger} AccessLog
 *
 * @typedef {object} OwnServerOptions
 * @property {string} [host]  the address to listen on; `'127.0.0.1'` by default. An address that other machines can
 *   reach needs keys
 * @property {number} [port]  7700 by default; 0 for any free one
 * @property {number} [connections]  how many there may be; 2,000 by default
 * @property {number} [headerSize]  bytes of all headers of a request; 16 KiB by default. More is answered with 431
 * @property {number} [requestMs]  ms in which a request must have arrived as a whole; 30,000 by default. Then it is
 *   answered with 408
 * @property {number} [idleMs]  ms without a byte in either direction after which a connection ends; 75,000 by default
 * @property {number} [graceMs]  for how many ms `close()` waits for requests that are under way; 5,000 by default
 * @property {AccessLog} [accessLog]  gets a line for each request: `method`, `path` without the query, `status`, `ms`
 *   until the answer had ended, `address`, the id of the `key`, and `isCut` if the client did not get the whole answer;
 *   and failures of the server
 * @typedef {IngestOptions & OwnServerOptions} ServerOptions
 */

const DEFAULTS = Object.freeze({
  ack: /** @type {Ack} */ ('written'),
  floor: /** @type {Ack} */ ('buffered'),
  log: {},
  rate: /** @type {Rate | null} */ (null),
  hosts: /** @type {string[] | null} */ (null),
  keysFile: /** @type {string | null} */ (null),
  requireKeys: false,
  onReport: warn,
  dictionary: false,
  index: /** @type {import('./indexes').IndexOption | null} */ (null),
  bufferMs: 50,
  openLogs: 100,
  cache: 32 * MiB
})

const INGEST = ['folder', 'limits', ...Object.keys(DEFAULTS)]

/**
 * @param {IngestOptions} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (options) {
  // Fastify adds its own, such as prefix.
  checkOptions('ingest', options)
  const all = { ...DEFAULTS, ...options }
  const { ack, floor, rate, hosts, log, dictionary, index, keysFile, requireKeys, onReport } = all
  const { bufferMs, openLogs, cache } = all
  for (const name of [ack, floor]) if (!ACKS.includes(name)) throw misuse(`ingest: ${reasonOf(name)} is no acknowledgement; use ${ACKS.join(', ')}`)
  if (rate !== null && !(rate.count >= 1 && rate.windowMs >= 1)) throw misuse('ingest: rate must have a count and windowMs, both at least 1')
  if (hosts !== null && !Array.isArray(hosts)) throw misuse('ingest: hosts must be a list of names')
  for (const [name, value] of Object.entries({ dictionary, requireKeys })) {
    if (typeof value !== 'boolean') throw misuse(`ingest: ${name} must be true or false, got ${reasonOf(value)}`)
  }
  checkLog(log, dictionary)
  const folder = parseFolder(options.folder)
  checkOptions('ingest: limits', options.limits ?? {}, Object.keys(LIMITS))
  const limits = checkNumbers('limits', /** @type {Limits} */ ({ ...LIMITS, ...options.limits }))
  return {
    folder,
    ack,
    floor,
    log: /** @type {LogOptions} */ ({ segmentDay: 'UTC', ...log }),
    storage: parseStorage(log),
    mode: /** @type {LogOptions} */ (log).mode,
    dictionary,
    indexes: parseIndexes(index),
    rate,
    hosts,
    onReport,
    requireKeys,
    limits,
    keysFile: resolvePath(keysFile) ?? path.join(folder, 'keys.json'),
    ...checkNumbers('ingest', { bufferMs, openLogs, cache })
  }
}

/** @type {(log: any, dictionary: boolean) => void} */
function checkLog (log, dictionary) {
  if (log === null || typeof log !== 'object') throw misuse(`ingest: log must be an object of options, got ${reasonOf(log)}`)
  checkOptions('ingest: log', log, LOG_OPTIONS)
  checkSegmentedOptions({ ...log, codec: recordCodec })
  if (dictionary && log.framing === 'lines') throw misuse('ingest: lines cannot store a dictionary; leave dictionary or log.framing out')
}

/** @typedef {ReturnType<typeof parseOptions>} Options */

/** Of all files but that of the keys. @param {LogOptions} log */
function parseStorage ({ storage = fileStorage, mode }) {
  return mode === undefined ? storage : withFileMode(storage, parseFileMode('ingest: log', mode))
}

/** @param {unknown} folder */
function parseFolder (folder) {
  const text = resolvePath(folder)
  if (typeof text !== 'string' || text === '') throw misuse(`ingest: folder must be a path, got ${reasonOf(folder)}`)
  return path.resolve(text)
}

/**
 * @template {Record<string, number>} T
 * @param {string} name
 * @param {T} numbers
 */
function checkNumbers (name, numbers) {
  for (const [key, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !(value >= 0)) throw misuse(`ingest: ${name}: ${key} must be a number from 0 on, got ${reasonOf(value)}`)
  }
  return numbers
}

/** @param {ServerOptions} options */
function parseServerOptions (options) {
  checkOptions('createIngest', options, ['accessLog', ...INGEST, ...Object.keys(SERVER)])
  const { accessLog, ...rest } = options
  const own = Object.fromEntries(Object.entries(rest).filter(([key]) => Object.hasOwn(SERVER, key)))
  const ofLogs = Object.fromEntries(Object.entries(rest).filter(([key]) => INGEST.includes(key)))
  const { host, ...numbers } = /** @type {typeof SERVER & { host: string }} */ ({ ...SERVER, ...own })
  if (accessLog !== undefined && !isAccessLog(accessLog)) {
    throw misuse('createIngest: accessLog must be a destination for pino, or a logger of pino')
  }
  if (typeof host !== 'string') throw misuse(`createIngest: host must be an address, got ${reasonOf(host)}`)
  return { ingest: /** @type {IngestOptions} */ (ofLogs), accessLog, host, ...checkNumbers('createIngest', numbers) }
}

/** @param {any} accessLog */
function isAccessLog (accessLog) {
  return typeof accessLog?.write === 'function' || typeof accessLog?.info === 'function'
}

/** @type {(err: Error, log: string) => void} */
function warn (err, log) {
  process.emitWarning(`${log}: ${err.message}`, 'IngestWarning')
}

exports.ACKS = ACKS
exports.DEFAULTS = DEFAULTS
exports.LIMITS = LIMITS
exports.SERVER = SERVER
exports.parseOptions = parseOptions
exports.parseServerOptions = parseServerOptions
