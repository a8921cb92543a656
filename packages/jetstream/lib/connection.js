'use strict'
// The connection to the servers, and calls that are made again while no server answers.

const { performance } = require('node:perf_hooks')
const { LogError } = require('@millrace/errors')
const { pause } = require('@millrace/flow')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect, nanos } = require('@nats-io/transport-node')
const { apiError, isNoResponders, isTransient, NUMBER, numberOf, streamGone, wrap } = require('./failures')

/** One attempt. A leader is elected within a few seconds; the next attempt finds it. */
const ATTEMPT_MS_MAX = 5000
const PAUSE_MS_MAX = 500
/**
 * A leader that was cut off from the others notices it within that time, and answers no more: every 10 s it looks
 * whether they have answered within 10 s. On a busy machine it took more than 22 s.
 */
const DEPOSED_MS_MAX = 30_000
/** Reads many records with one request since 2.11. */
const LEAST_VERSION = [2, 11]

/** @typedef {import('./options').Options} Options */
/** @typedef {import('@nats-io/transport-node').Msg} Msg */

class Connection {
  #options
  /** @type {import('@nats-io/transport-node').NatsConnection} */
  nc = /** @type {any} */ (null)
  /** @type {import('@nats-io/jetstream').JetStreamManager} */
  manager = /** @type {any} */ (null)
  /** Since when there is said to be no stream; Infinity if something has been answered since. */
  #goneSinceMs = Infinity

  /** @param {Options} options */
  constructor (options) {
    this.#options = options
  }

  /** The prefix of the subjects of the JetStream API. */
  get prefix () {
    const { apiPrefix, domain } = this.#options.jetstream
    return apiPrefix ?? (domain === undefined ? '$JS.API' : `$JS.${domain}.API`)
  }

  get version () {
    return this.nc.info?.version ?? ''
  }

  async open () {
    const options = this.#options
    try {
      this.nc = await connect({ ...options.connecting })
    } catch (cause) {
      throw wrap('open', options, cause)
    }
    const [major, minor] = this.version.split('.').map(Number)
    if (major < LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor < LEAST_VERSION[1])) {
      await this.nc.close()
      throw new LogError('ERR_NOT_SUPPORTED', `open: the server of ${options.place} has version ${this.version}; version ` +
        `${LEAST_VERSION.join('.')} or later is needed. Debian's package is too old: install the official one`, { path: options.place })
    }
    const given = Object.fromEntries(Object.entries(options.jetstream).filter(([, value]) => value !== undefined))
    const timeout = Math.min(ATTEMPT_MS_MAX, options.timeoutMs)
    this.manager = await jetstreamManager(this.nc, { checkAPI: false, timeout, ...given })
  }

  /**
   * Runs an action until it succeeds, fails for good, or the servers have been away for too long.
   * @template T
   * @param {string} call  for the error
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  async retry (call, action) {
    const options = this.#options
    const deadlineMs = performance.now() + options.timeoutMs
    for (let attempt = 1; ; attempt++) {
      try {
        const result = await action()
        this.#goneSinceMs = Infinity
        return result
      } catch (err) {
        const isGone = await this.#saysGone(err)
        if (isGone && this.#isBelieved()) throw streamGone(call, options.place, err)
        const goesOn = (isGone || isTransient(err)) && !this.nc.isClosed() && performance.now() < deadlineMs
        if (!goesOn) throw wrap(call, options, isGone ? new Error('stream not found') : err)
      }
      await pause(Math.min(PAUSE_MS_MAX, 20 * 2 ** attempt))
    }
  }

  /**
   * A server of a cluster may say that there is no stream while the stream moves, or because it was cut off from the
   * others. So it is believed only after a while without another answer.
   */
  #isBelieved () {
    const nowMs = performance.now()
    this.#goneSinceMs = Math.min(this.#goneSinceMs, nowMs)
    return this.nc.info?.cluster === undefined || nowMs - this.#goneSinceMs > DEPOSED_MS_MAX
  }

  /**
   * Whether there is said to be no stream. Nobody listens to the subjects of one that was deleted.
   * @param {unknown} err
   */
  async #saysGone (err) {
    if (numberOf(err) === NUMBER.streamNotFound) return true
    if (!isNoResponders(err)) return false
    try {
      await this.manager.streams.info(this.#options.stream)
      return false
    } catch (/** @type {any} */ err) {
      return err.name === 'StreamNotFoundError'
    }
  }

  /**
   * One request, and its answer.
   * @param {string} subject
   * @param {Uint8Array | string} data
   * @param {import('@nats-io/transport-node').MsgHdrs} [headers]
   */
  request (subject, data, headers) {
    const timeout = Math.min(ATTEMPT_MS_MAX, this.#options.timeoutMs)
    return this.nc.request(subject, data, { timeout, ...(headers && { headers }) })
  }

  /**
   * A call of the JetStream API. An error in the answer is thrown.
   * @type {(name: string, request: object) => Promise<any>}
   */
  async ask (name, request) {
    return parseAnswer(await this.request(`${this.prefix}.${name}`, JSON.stringify(request)))
  }

  /**
   * Makes a consumer, which acknowledges nothing, and of which the server keeps nothing on its disk.
   * @param {number} from  the first seq that it delivers
   * @param {number} keptMs  the server forgets it if nobody has asked it for so long
   * @param {object} [more]  settings
   * @returns {Promise<string>}  its name
   */
  async makeConsumer (from, keptMs, more) {
    const { stream } = this.#options
    const config = {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: from,
      ack_policy: 'none',
      max_deliver: 1,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: nanos(keptMs),
      ...more
    }
    const { name } = await this.ask(`CONSUMER.CREATE.${stream}`, { stream_name: stream, config })
    return name
  }

  /**
   * Asks a consumer for its next messages, which come to the inbox.
   * @type {(consumer: string, inbox: string, request: object) => void}
   */
  askConsumer (consumer, inbox, request) {
    const subject = `${this.prefix}.CONSUMER.MSG.NEXT.${this.#options.stream}.${consumer}`
    this.nc.publish(subject, JSON.stringify(request), { reply: inbox })
  }

  async close () {
    if (this.nc === null || this.nc.isClosed()) return
    // It waits for the server, which may be away.
    await Promise.race([this.nc.drain().catch(() => {}), pause(1000)])
    await this.nc.close()
  }
}

/** @param {Msg} answer @returns {any} */
function parseAnswer (answer) {
  const parsed = /** @type {any} */ (answer.json())
  if (parsed.error) throw apiError(parsed.error)
  return parsed
}

exports.ATTEMPT_MS_MAX = ATTEMPT_MS_MAX
exports.DEPOSED_MS_MAX = DEPOSED_MS_MAX
exports.Connection = Connection
exports.parseAnswer = parseAnswer
