'use strict'
// Publishes records as messages, alone or as atomic batches. Each has an id, by which the server knows it again.

const { randomBytes } = require('node:crypto')
const { headers } = require('@nats-io/transport-node')
const { parseAnswer } = require('./connection')

/** The server's limit on an atomic batch. */
const BATCH_COUNT_MAX = 1000
/** What the headers of a message take at most, besides the name of the stream. The server's limits include them. */
const HEADERS_SIZE = 256

/**
 * @typedef {{ data: Buffer, id: string }} Message
 * @typedef {Record<string, string>} More  headers, besides those that every message has
 */

class Messages {
  #core
  /** Batches of a process that was killed may be open still, so their ids must not come again. */
  #batchPrefix = randomBytes(9).toString('base64url')
  #batchCount = 0

  /** @param {import('./core').Core} core */
  constructor (core) {
    this.#core = core
  }

  /** Of a record, in bytes. */
  get sizeMax () {
    const { connection: { nc }, options: { maxRecordSize, stream }, opened: { messageSizeMax } } = this.#core
    const withHeaders = Math.min(nc.info?.max_payload ?? Infinity, messageSizeMax)
    return Math.min(maxRecordSize, withHeaders - HEADERS_SIZE - stream.length)
  }

  /**
   * Divides messages into groups, each for one atomic batch, if the stream allows these.
   * @template {Message} M
   * @param {M[]} messages
   * @returns {Generator<{ part: M[], isBatch: boolean }>}
   */
  * divide (messages) {
    for (let start = 0; start < messages.length; start += BATCH_COUNT_MAX) {
      const part = messages.slice(start, start + BATCH_COUNT_MAX)
      yield { part, isBatch: part.length > 1 && this.#core.opened.isAtomic }
    }
  }

  /** @type {(message: Message, more?: More) => Promise<import('./known').Ack>} */
  async send (message, more = {}) {
    const { connection, options: { subject } } = this.#core
    return parseAnswer(await connection.request(subject, message.data, this.#headersOf(message, more)))
  }

  /** All or nothing. @type {(messages: Message[], ofFirst?: More) => Promise<import('./known').Ack>} of the last one */
  async sendBatch (messages, ofFirst = {}) {
    const { connection: { nc }, options: { subject } } = this.#core
    const batchId = `${this.#batchPrefix}.${this.#batchCount++}`
    const last = messages.length - 1
    for (const [index, message] of messages.entries()) {
      const more = { ...(index === 0 && ofFirst), 'Nats-Batch-Id': batchId, 'Nats-Batch-Sequence': String(index + 1) }
      if (index === last) return this.send(message, { ...more, 'Nats-Batch-Commit': '1' })
      nc.publish(subject, message.data, { headers: this.#headersOf(message, more) })
    }
    throw new RangeError('a batch has no message')
  }

  /** @type {(message: Message, more: More) => import('@nats-io/transport-node').MsgHdrs} */
  #headersOf ({ id }, more) {
    const all = headers()
    all.set('Nats-Msg-Id', id)
    // If another stream has taken the subject over, the server refuses the record.
    all.set('Nats-Expected-Stream', this.#core.options.stream)
    for (const name of Object.keys(more)) all.set(name, more[name])
    return all
  }
}

exports.BATCH_COUNT_MAX = BATCH_COUNT_MAX
exports.Messages = Messages
