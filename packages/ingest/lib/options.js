'use strict'
// Checks the options, and says what holds without them.

const path = require('node:path')
const { fileURLToPath } = require('node:url')
const { fileStorage, parseFileMode, withFileMode } = require('@millrace/block-file')
const { misuse } = require('@millrace/errors')

const ACKS = /** @type {const} */ (['buffered', 'written', 'synced'])
const MiB = 2 ** 20

const LIMITS = Object.freeze({
  /** bytes of a body as it is sent, and unpacked */
  bodySize: 8 * MiB,
  inflatedSize: 32 * MiB,
  /** bytes that all requests together may hold */
  requestsSize: 128 * MiB,
  /** records of a request */
  batchCount: 50_000,
  /** bytes of a record */
  recordSize: MiB,
  /** bytes of one log that may wait to be written */
  pendingSize: 32 * MiB,
  /** logs that requests may make */
  logs: 100_000,
  /** different events that a day may have, by source and event */
  eventsPerDay: 10_000,
  /** requests that read a range */
  readers: 100,
  /** live streams */
  liveReaders: 1000,
  /** what one reading request may take before it says where to go on */
  scanSize: 256 * MiB,
  scanMs: 5000,
  /** for a reader that takes nothing */
  stallMs: 30_000,
  /** how often a live stream that has nothing to send says so */
  heartbeatMs: 15_000,
  idempotencyKeys: 1_000_000,
  idempotencyMs: 24 * 3600 * 1000
})

const SERVER = Object.freeze({
  host: /** @type {string} */ ('127.0.0.1'),
  port: 7700,
  connections: 2000,
  headerSize: 16 * 1024,
  /** until a request has arrived as a whole */
  requestMs: 30_000,
  /** without any byte in either direction */
  idleMs: 75_000,
  /** for requests that are under way when the server is closed */
  graceMs: 5000
})

/**
 * @typedef {typeof ACKS[number]} Ack
 * @typedef {{ count: number, windowMs: number }} Rate
 * @typedef {{ [name in keyof typeof LIMITS]: number }} Limits
 * @typedef {import('@millrace/segmented-log').SegmentedLogOptions} SegmentedLogOptions
 * @typedef {Omit<SegmentedLogOptions, 'codec' | 'flags' | 'strict' | 'maxRecordSize' | 'signal'>} LogOptions
 * @typedef {any} Log  a segmented log of `recordCodec`
 * @typedef {{ base: number, created: Date }} Segment
 */

/**
 * @typedef {object} IngestOptions
 * @property {string | URL} folder  of the logs
 * @property {Ack} [ack]  what is acknowledged if the client does not ask; `written` by default
 * @property {Ack} [floor]  the least that is acknowledged, whatever the client asks; `buffered` by default
 * @property {number} [bufferMs]  how long a buffered record may wait; 50 by default
 * @property {LogOptions} [log]  of each log: when segments begin and when they are dropped
 * @property {boolean} [dictionary]  whether new segments store repeated texts once; false by default
 * @property {number} [openLogs]  how many logs may be open; 100 by default
 * @property {number} [cache]  bytes for all logs together; 32 MiB by default
 * @property {Partial<Limits>} [limits]
 * @property {Rate | null} [rate]  requests of a key, or of an address without keys; null, the default: no limit
 * @property {string | null} [keysFile]  `keys.json` in the folder by default
 * @property {boolean} [requireKeys]  whether requests need a key also if there is no file of keys; false by default
 * @property {string[] | null} [hosts]  names of the server, as `Host` gives them, without a port
 * @property {(err: Error, log: string) => void} [onReport]  gets failures of the disk
 */

/**
 * A destination for pino, such as one of `@millrace/pino`, or a logger of pino.
 * @typedef {{ write: (line: string) => unknown } | import('fastify').FastifyBaseLogger} AccessLog
 *
 * @typedef {object} OwnServerOptions
 * @property {string} [host]  the address to listen on; `127.0.0.1` by default
 * @property {number} [port]  7700 by default; 0 for any free one
 * @property {number} [connections]
 * @property {number} [headerSize]
 * @property {number} [requestMs]
 * @property {number} [idleMs]
 * @property {number} [graceMs]
 * @property {AccessLog} [accessLog]  gets a line for each request
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
  if (options === null || typeof options !== 'object') throw misuse(`ingest: expected options, got ${String(options)}`)
  const all = { ...DEFAULTS, ...options }
  const { ack, floor, rate, hosts, log, dictionary, keysFile, requireKeys, onReport, bufferMs, openLogs, cache } = all
  for (const name of [ack, floor]) if (!ACKS.includes(name)) throw misuse(`ingest: ${String(name)} is no acknowledgement; use ${ACKS.join(', ')}`)
  if (rate !== null && !(rate.count >= 1 && rate.windowMs >= 1)) throw misuse('ingest: rate must have a count and windowMs, both at least 1')
  if (hosts !== null && !Array.isArray(hosts)) throw misuse('ingest: hosts must be a list of names')
  for (const [name, value] of Object.entries({ dictionary, requireKeys })) {
    if (typeof value !== 'boolean') throw misuse(`ingest: ${name} must be true or false, got ${String(value)}`)
  }
  const folder = parseFolder(options.folder)
  checkNames('limits', options.limits ?? {}, Object.keys(LIMITS))
  const limits = checkNumbers('limits', /** @type {Limits} */ ({ ...LIMITS, ...options.limits }))
  return {
    folder,
    ack,
    floor,
    log: /** @type {LogOptions} */ ({ segmentDay: 'UTC', ...log }),
    storage: parseStorage(log),
    mode: /** @type {LogOptions} */ (log).mode,
    dictionary,
    rate,
    hosts,
    onReport,
    requireKeys,
    limits,
    keysFile: keysFile ?? path.join(folder, 'keys.json'),
    ...checkNumbers('ingest', { bufferMs, openLogs, cache })
  }
}

/** @typedef {ReturnType<typeof parseOptions>} Options */

/** Of all files but that of the keys. @param {LogOptions} log */
function parseStorage ({ storage = fileStorage, mode }) {
  return mode === undefined ? storage : withFileMode(storage, parseFileMode('ingest: log', mode))
}

/** @param {unknown} folder */
function parseFolder (folder) {
  const text = folder instanceof URL ? fileURLToPath(folder) : folder
  if (typeof text !== 'string' || text === '') throw misuse(`ingest: folder must be a path, got ${String(folder)}`)
  return path.resolve(text)
}

/** @type {(name: string, given: object, known: string[]) => void} */
function checkNames (name, given, known) {
  for (const key of Object.keys(given)) if (!known.includes(key)) throw misuse(`ingest: ${name} has no option ${key}; known are ${known.join(', ')}`)
}

/**
 * @template {Record<string, number>} T
 * @param {string} name
 * @param {T} numbers
 */
function checkNumbers (name, numbers) {
  for (const [key, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || !(value >= 0)) throw misuse(`ingest: ${name}: ${key} must be a number from 0 on, got ${String(value)}`)
  }
  return numbers
}

/** @param {ServerOptions} options */
function parseServerOptions (options) {
  const { accessLog, ...rest } = options
  checkNames('createIngest', rest, [...INGEST, ...Object.keys(SERVER)])
  const own = Object.fromEntries(Object.entries(rest).filter(([key]) => Object.hasOwn(SERVER, key)))
  const ofLogs = Object.fromEntries(Object.entries(rest).filter(([key]) => INGEST.includes(key)))
  const { host, ...numbers } = /** @type {typeof SERVER & { host: string }} */ ({ ...SERVER, ...own })
  if (accessLog !== undefined && !isAccessLog(accessLog)) {
    throw misuse('createIngest: accessLog must be a destination for pino, or a logger of pino')
  }
  if (typeof host !== 'string') throw misuse(`createIngest: host must be an address, got ${String(host)}`)
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
