'use strict'
// Finds the stream or makes it, checks that it can be this log, and asks the servers what an acknowledgement means.

const { randomBytes } = require('node:crypto')
const { LogError } = require('@millrace/errors')
const { nanos } = require('@nats-io/transport-node')
const { NUMBER, numberOf } = require('./failures')

/** In the metadata of a stream. */
const CODEC = 'millrace-codec'
const ID = 'millrace-id'
const MONITOR_MS_MAX = 5000

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('./options').Options} Options
 * @typedef {import('@nats-io/jetstream').StreamInfo} StreamInfo
 * @typedef {import('@nats-io/jetstream').StreamConfig} StreamConfig
 * @typedef {'synced' | 'replicated' | 'written'} Acknowledged
 *
 * @typedef {object} Opened
 * @property {string} created  when the stream was made, which tells it from a later one of the same name
 * @property {string | null} id  of the log
 * @property {string | null} codec
 * @property {number} since  -1 if there is no record
 * @property {number} lastSeq  the highest that a record ever had
 * @property {number} replicas
 * @property {boolean} isAtomic
 * @property {number} messageSizeMax  in bytes, with the headers
 * @property {Acknowledged} acknowledged
 * @property {number | null} syncIntervalMs  null if unknown; 0 if the servers sync before they acknowledge
 */

/** @type {(connection: Connection, options: Options) => Promise<Opened>} */
async function openStream (connection, options) {
  const info = await connection.retry('open', () => findOrMake(connection, options))
  checkStream(info, options)
  const { config, state } = info
  const syncIntervalMs = await askSyncInterval(info, options)
  const { metadata = {} } = config
  const mismatch = options.codec.compareName(metadata[CODEC] ?? null, options.place, 'open')
  if (mismatch) throw mismatch
  return {
    created: String(info.created),
    id: metadata[ID] ?? null,
    codec: metadata[CODEC] ?? null,
    since: state.messages === 0 ? -1 : await findLast(connection, options),
    lastSeq: state.last_seq,
    replicas: config.num_replicas,
    isAtomic: Boolean(config.allow_atomic),
    messageSizeMax: config.max_msg_size > 0 ? config.max_msg_size : Infinity,
    acknowledged: acknowledgement(config.num_replicas, syncIntervalMs),
    syncIntervalMs
  }
}

/** @type {(connection: Connection, options: Options) => Promise<StreamInfo>} */
async function findOrMake ({ manager, version }, options) {
  const { stream, subject, place, codec, replicas, config, duplicateWindowMs, mustExist } = options
  try {
    return await manager.streams.info(stream)
  } catch (/** @type {any} */ err) {
    if (numberOf(err) !== NUMBER.streamNotFound) throw err
    if (mustExist) throw new LogError('ENOENT', `open: there is no stream ${place}; leave out mustExist to make it`, { path: place, cause: err })
  }
  const [major, minor] = version.split('.').map(Number)
  // The server takes no window that is longer than records live.
  const windowMsMax = config.max_age ? config.max_age / 1e6 : Infinity
  const window = config.duplicate_window ?? nanos(Math.min(duplicateWindowMs, windowMsMax))
  checkWindow(window, options)
  try {
    return await manager.streams.add(/** @type {any} */ ({
      num_replicas: replicas ?? 1,
      // A full stream must refuse records, not drop old ones.
      discard: 'new',
      allow_direct: true,
      duplicate_window: window,
      ...(major > 2 || minor >= 12 ? { allow_atomic: true } : {}),
      ...config,
      name: stream,
      subjects: [subject],
      storage: 'file',
      metadata: { ...config.metadata, [ID]: randomBytes(16).toString('hex'), ...(codec.name === '' ? {} : { [CODEC]: codec.name }) }
    }))
  } catch (err) {
    // Another process was faster.
    if (numberOf(err) === NUMBER.nameInUse) return manager.streams.info(stream)
    throw err
  }
}

/**
 * An append is published again for as long as `timeout`, and so the server must remember its ids for longer: otherwise
 * it would store the same record again.
 * @type {(windowNanos: number, options: Options) => void}
 */
function checkWindow (windowNanos, { place, timeoutMs, duplicateWindowMsMin }) {
  if (windowNanos / 1e6 >= duplicateWindowMsMin) return
  throw new LogError('ERR_NOT_SUPPORTED', `open: ${place} remembers message ids for ${windowNanos / 1e9} s, and an append is tried for ` +
    `${timeoutMs / 1000} s: it could be stored twice. Raise duplicate_window of the stream to ${duplicateWindowMsMin / 1000} s, or lower timeout`,
  { path: place })
}

/** @type {(info: StreamInfo, options: Options) => void} throws what this log cannot work with */
function checkStream ({ config }, options) {
  const { subject, place, replicas } = options
  const refuse = (/** @type {any} */ code, /** @type {string} */ message) => { throw new LogError(code, `open: ${place} ${message}`, { path: place }) }
  if (config.subjects?.length !== 1 || config.subjects[0] !== subject) {
    refuse('ERR_LOG_REPLACED', `takes the subjects ${(config.subjects ?? []).join(', ') || '(none)'}, and the log needs a stream of its own for ${subject}`)
  }
  if (config.retention !== 'limits') refuse('ERR_NOT_SUPPORTED', `drops records once they are consumed (retention: ${config.retention})`)
  if (config.storage !== 'file') refuse('ERR_NOT_SUPPORTED', 'keeps its records in memory; a log needs storage: file')
  if (!config.allow_direct) refuse('ERR_NOT_SUPPORTED', 'does not allow direct reads; set allow_direct')
  checkWindow(config.duplicate_window, options)
  if (replicas !== null && config.num_replicas < replicas) {
    refuse('ERR_NOT_SUPPORTED', `has ${config.num_replicas} replicas, fewer than the ${replicas} asked for; raise num_replicas of the stream`)
  }
}

/**
 * Whether the servers drop the oldest records of a stream by themselves.
 * @param {StreamConfig} config
 */
function mayDrop (config) {
  const { discard, max_msgs: count, max_bytes: size, max_msgs_per_subject: countPerSubject } = config
  // `discard: new` refuses new records instead, but not above a limit per subject.
  const drops = discard === 'new' ? [countPerSubject] : [count, size, countPerSubject]
  return mayExpire(config) || drops.some((limit) => limit > 0)
}

/** Whether records go with time, even the last one. @param {StreamConfig} config */
function mayExpire ({ max_age: age, allow_msg_ttl: hasTtl }) {
  return age > 0 || Boolean(hasTtl)
}

/** The last record that is not deleted. @type {(connection: Connection, options: Options) => Promise<number>} */
async function findLast (connection, { stream, subject }) {
  try {
    const { message } = await connection.retry('open', () => connection.ask(`STREAM.MSG.GET.${stream}`, { last_by_subj: subject }))
    return message.seq
  } catch (/** @type {any} */ err) {
    if (numberOf(err.cause) === NUMBER.noMessage) return -1
    throw err
  }
}

/**
 * How often the servers sync: the longest interval of all servers that hold the stream. The clients' port does not say
 * it, the monitoring port does.
 * @type {(info: StreamInfo, options: Options) => Promise<number | null>}  ms; null if unknown
 */
async function askSyncInterval ({ config, cluster }, { monitors, requireSynced, place }) {
  const isAsync = /** @type {any} */ (config).persist_mode === 'async'
  const answers = await Promise.all(monitors.map(askMonitor))
  const replicas = (cluster?.replicas ?? []).map(({ name }) => name)
  const holders = [cluster?.leader, ...replicas].filter((name) => name !== undefined)
  const missing = holders.filter((name) => !answers.some((answer) => answer?.name === name))
  const isKnown = monitors.length > 0 && answers.every((answer) => answer !== null) && missing.length === 0
  const interval = isKnown ? Math.max(...answers.map((answer) => /** @type {SyncAnswer} */ (answer).intervalMs)) : null
  const found = isAsync ? null : interval
  if (!requireSynced || found === 0) return found
  const why = describeSyncing({ isAsync, interval, missing, monitors })
  throw new LogError('ERR_LOG_NOT_SYNCED', `open: ${place}: requireSynced was given, and ${why}`, { path: place })
}

/** @type {(found: { isAsync: boolean, interval: number | null, missing: string[], monitors: string[] }) => string} */
function describeSyncing ({ isAsync, interval, missing, monitors }) {
  if (isAsync) return 'the stream has persist_mode: async, which acknowledges before it writes'
  if (interval !== null) return `the servers sync every ${interval / 1000} s; set jetstream { sync_interval: always } in their configuration`
  if (monitors.length === 0) return 'nobody says how often the servers sync; give the URLs of their monitoring ports as monitor'
  if (missing.length > 0) return `monitor does not name the monitoring ports of ${missing.join(', ')}`
  return `not every monitoring port answers at ${monitors.join(', ')}`
}

/**
 * @typedef {{ name: string, intervalMs: number }} SyncAnswer
 * @param {string} url
 * @returns {Promise<SyncAnswer | null>}  null if it does not answer
 */
async function askMonitor (url) {
  try {
    const response = await fetch(`${url}/varz`, { signal: AbortSignal.timeout(MONITOR_MS_MAX) })
    const { server_name: name, jetstream } = /** @type {any} */ (await response.json())
    const { sync_interval: interval, sync_always: isAlways } = jetstream.config
    return typeof interval === 'number' || isAlways ? { name, intervalMs: isAlways ? 0 : interval / 1e6 } : null
  } catch {
    return null
  }
}

/** @type {(replicas: number, syncIntervalMs: number | null) => Acknowledged} */
function acknowledgement (replicas, syncIntervalMs) {
  if (syncIntervalMs === 0) return 'synced'
  return replicas > 1 ? 'replicated' : 'written'
}

exports.mayDrop = mayDrop
exports.mayExpire = mayExpire
exports.openStream = openStream
