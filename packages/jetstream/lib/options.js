'use strict'
// Checks the options of a JetStreamLog and fills in the defaults.

const { checkOptions, misuse, parseNumber, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { RecordCodec } = require('@millrace/offset-log/composing')

const STREAM_NAME = /^[^\s.*>/\\]{1,255}$/
const SUBJECT = /^[^\s.*>]+(\.[^\s.*>]+)*$/
const REPLICAS_MAX = 5
/** How long the servers may be away. They must remember message ids for longer than that. */
const TIMEOUT_MS = 30_000
const DUPLICATE_WINDOW_MS = 120_000
/** Of `@nats-io/transport-node`. They pass through as they are. */
const CONNECTING = ['authenticator', 'debug', 'ignoreAuthErrorAbort', 'inboxPrefix', 'maxPingOut', 'maxReconnectAttempts', 'name',
  'noRandomize', 'pass', 'pingInterval', 'reconnect', 'reconnectDelayHandler', 'reconnectJitter', 'reconnectJitterTLS',
  'reconnectTimeWait', 'servers', 'tls', 'token', 'user', 'waitOnFirstConnect', 'ignoreClusterUpdates']
const KNOWN = [...CONNECTING, 'stream', 'subject', 'codec', 'replicas', 'config', 'filename', 'follow', 'timeout', 'connectTimeout',
  'mustExist', 'requireSynced', 'monitor', 'apiPrefix', 'domain', 'maxRecordSize', 'maxPendingSize', 'strict', 'signal']

/**
 * The options of a log on JetStream. `servers` (a text or a list; by default `127.0.0.1:4222`), `tls`, `token`, `user`,
 * `pass`, `authenticator` (credentials, NKeys), `name`, `inboxPrefix`, `pingInterval`, `reconnectTimeWait` and others
 * pass through to `@nats-io/transport-node`. The client reconnects without end, unless `maxReconnectAttempts` says
 * otherwise.
 * @template [T=any]
 * @typedef {object} OwnOptions
 * @property {string} stream  the name of the stream. It is made if there is none; the log needs one of its own.
 *   Required
 * @property {string} [subject]  on which the records are published; no wildcards. By default the name of the stream
 * @property {import('@millrace/offset-log').Codec<T>} [codec]  its name is in the metadata of the stream, and compared.
 *   By default values are Buffers
 * @property {number} [replicas]  1 to 5. A new stream has 1 by default; an existing one must have at least as many
 * @property {Partial<import('@nats-io/jetstream').StreamConfig>} [config]  more settings of a new stream, such as
 *   `max_bytes`, `max_age` or `placement`. If these drop its oldest records (`discard: 'old'`), reading one fails with
 *   `ERR_LOG_SEQ_RETAINED`. By default a full stream refuses records (`ERR_LOG_FULL`)
 * @property {string} [filename]  a path; flumedb and its views keep their own files beside it
 * @property {boolean} [follow]  false: `since` moves only with this log's own appends, which saves a small message for
 *   each record and one a second. True by default
 * @property {number} [timeout]  for how many ms a call tries again while no server answers; 30,000 by default. Then it
 *   fails with `ERR_SERVER_UNAVAILABLE`, and the record of an append may be there or not
 * @property {number} [connectTimeout]  ms for one attempt to connect; 20,000 by default
 * @property {boolean} [mustExist]  true fails with `ENOENT` if there is no such stream; false by default
 * @property {boolean} [requireSynced]  true makes opening fail with `ERR_LOG_NOT_SYNCED`, unless every server that
 *   holds the stream says that it syncs before it acknowledges; false by default
 * @property {string | readonly string[]} [monitor]  URLs of the monitoring ports of all servers, such as
 *   `http://127.0.0.1:8222`. Only these say when the servers sync: without them, `acknowledged` is never `'synced'`
 * @property {string} [apiPrefix]  of the JetStream API
 * @property {string} [domain]  of JetStream
 * @property {number} [maxRecordSize]  bytes of a record; the server's limit by default, which is 1 MiB with the headers
 *   unless it is configured. Larger records are refused with `ERR_RECORD_TOO_LARGE`
 * @property {number} [maxPendingSize]  bytes that may wait to be appended; Infinity by default. More is refused with
 *   `ERR_LOG_OVERLOADED`
 * @property {boolean} [strict]  true refuses unknown options of reads; false by default
 * @property {AbortSignal} [signal]  an abort fails opening with ABORT_ERR
 */

/**
 * @template [T=any]
 * @typedef {OwnOptions<T> & Omit<ConnectionOptions, 'timeout'>} JetStreamLogOptions
 */

/** @typedef {import('@nats-io/transport-node').NodeConnectionOptions} ConnectionOptions */
/** @typedef {ReturnType<typeof parseOptions>} Options */

/**
 * @param {JetStreamLogOptions & Record<string, unknown>} options
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseOptions (options) {
  checkOptions('JetStreamLog', options, KNOWN)
  const { stream, subject = stream, servers = '127.0.0.1:4222', filename, signal, monitor = [] } = options
  if (typeof stream !== 'string' || !STREAM_NAME.test(stream)) {
    throw misuse(`JetStreamLog: stream must be a name without spaces, dots, slashes and wildcards, got ${reasonOf(stream)}`)
  }
  if (typeof subject !== 'string' || !SUBJECT.test(subject)) {
    throw misuse(`JetStreamLog: subject must be a subject without wildcards, got ${reasonOf(subject)}`)
  }
  if (filename !== undefined && typeof filename !== 'string') throw misuse(`JetStreamLog: filename must be a path, got ${typeof filename}`)
  const timeoutMs = parseNumber('JetStreamLog: timeout', options.timeout, TIMEOUT_MS, 1)
  return {
    stream,
    subject,
    filename,
    place: placeOf(servers, stream),
    codec: new RecordCodec(options.codec, 'JetStreamLog'),
    replicas: parseReplicas(options.replicas),
    config: options.config ?? {},
    follows: options.follow !== false,
    timeoutMs,
    duplicateWindowMs: Math.max(DUPLICATE_WINDOW_MS, 4 * timeoutMs),
    duplicateWindowMsMin: 2 * timeoutMs,
    mustExist: Boolean(options.mustExist),
    requireSynced: Boolean(options.requireSynced),
    monitors: (Array.isArray(monitor) ? monitor : [monitor]).map(parseMonitor),
    jetstream: { apiPrefix: options.apiPrefix, domain: options.domain },
    maxRecordSize: parseNumber('JetStreamLog: maxRecordSize', options.maxRecordSize, Infinity, 1),
    maxPendingSize: parseNumber('JetStreamLog: maxPendingSize', options.maxPendingSize, Infinity, Number.MIN_VALUE),
    isStrict: Boolean(options.strict),
    signal: parseSignal('JetStreamLog', signal),
    connecting: connectionOptions(options, servers)
  }
}

/** @type {(options: Record<string, unknown>, servers: any) => ConnectionOptions} */
function connectionOptions (options, servers) {
  const own = CONNECTING.filter((name) => options[name] !== undefined).map((name) => [name, options[name]])
  const timeout = parseNumber('JetStreamLog: connectTimeout', options.connectTimeout, 20_000, 1)
  return { maxReconnectAttempts: -1, reconnectTimeWait: 250, ...Object.fromEntries(own), servers, timeout }
}

/** For messages, without names and passwords. @type {(servers: unknown, stream: string) => string} */
function placeOf (servers, stream) {
  const [first] = Array.isArray(servers) ? servers : [servers]
  return `nats://${reasonOf(first).replace(/^[a-z]+:\/\//, '').replace(/^.*@/, '')}/${stream}`
}

/** @param {unknown} replicas @returns {number | null}  null if it was not given */
function parseReplicas (replicas) {
  if (replicas === undefined) return null
  if (Number.isInteger(replicas) && Number(replicas) >= 1 && Number(replicas) <= REPLICAS_MAX) return Number(replicas)
  throw misuse(`JetStreamLog: replicas must be from 1 to ${REPLICAS_MAX}, got ${reasonOf(replicas)}`)
}

/** @param {unknown} monitor */
function parseMonitor (monitor) {
  if (typeof monitor === 'string' && URL.canParse(monitor)) return monitor.replace(/\/+$/, '')
  throw misuse(`JetStreamLog: monitor must be a URL such as http://127.0.0.1:8222, got ${reasonOf(monitor)}`)
}

exports.parseOptions = parseOptions
