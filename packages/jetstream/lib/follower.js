'use strict'
// Follows the stream, so that `since` moves with the appends of others too: a consumer that gets only the headers of
// new records.

const { wrap } = require('./failures')

/** The consumer asks for so many at a time. */
const WINDOW_COUNT = 1000
/** ms; the servers keep the consumer for so long while this client is away. */
const KEPT_MS = 30_000

/** @typedef {import('./core').Core} Core */

class Follower {
  #core
  /** @type {import('@nats-io/jetstream').ConsumerMessages | null} */
  #messages = null
  #isClosed = false

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  async open () {
    const core = this.#core
    const { connection, options: { stream } } = core
    const consumer = await connection.retry('open', () => connection.client.consumers.get(stream, {
      deliver_policy: 'by_start_sequence',
      opt_start_seq: core.lastSeq + 1,
      headers_only: true,
      inactive_threshold: KEPT_MS
    }))
    if (this.#isClosed) return
    this.#messages = await consumer.consume({
      max_messages: WINDOW_COUNT,
      callback: (message) => core.show(message.seq)
    })
    this.#listen(this.#messages).catch((err) => core.fail(wrap('stream', core.options, err)))
  }

  /** @param {import('@nats-io/jetstream').ConsumerMessages} messages */
  async #listen (messages) {
    for await (const { type } of messages.status()) {
      if (this.#isClosed) return
      // The stream may be gone, or another one. If it is only away, the consumer finds it again.
      if (LOST.includes(type)) await this.#core.look('stream').catch(() => {})
    }
  }

  async close () {
    this.#isClosed = true
    await this.#messages?.close()
  }
}

const LOST = ['stream_not_found', 'consumer_deleted', 'consumer_not_found', 'ordered_consumer_recreated', 'heartbeats_missed', 'no_responders']

exports.Follower = Follower
