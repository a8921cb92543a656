'use strict'
// Appends. What was appended in one turn of the event loop, or while the group before was under way, is one group. It
// is published as one atomic batch if the stream allows that, and in a window of messages otherwise.
//
// Each record has a message id. If no answer comes, the group is published again with the same ids: the server adds
// nothing that it has already.

const { randomBytes } = require('node:crypto')
const { LogError } = require('@millrace/errors')
const { rethrowAsync } = require('@millrace/flow')
const { errors: { overloaded } } = require('@millrace/offset-log/composing')
const { headers } = require('@nats-io/transport-node')
const { parseAnswer } = require('./connection')
const { replaced } = require('./core')
const { NUMBER, numberOf } = require('./failures')

/** The server's limit on an atomic batch. */
const BATCH_COUNT_MAX = 1000
const GROUP_SIZE_MAX = 8 << 20
/** More than this need not wait, as in other logs. */
const DRAIN_SIZE = 1 << 20
/** What the headers of a message take at most, besides the name of the stream. The server's limits include them. */
const HEADERS_SIZE = 256

/**
 * @typedef {import('./core').Core} Core
 * @typedef {(err: Error | null, seq?: number) => void} Done
 * @typedef {{ data: Buffer, id: string }} Message
 * @typedef {import('@nats-io/transport-node').MsgHdrs} Headers
 *
 * @typedef {object} Waiting  one append
 * @property {Message[]} messages
 * @property {number} size  in bytes
 * @property {boolean} isOnce  whether the caller gave the ids: some of the records may be there already, from before
 * @property {Done} done
 */

class Publisher {
  #core
  /** @type {Waiting[]} */
  #queue = []
  #pendingSize = 0
  /** @type {Promise<void> | null} */
  #pumping = null
  /** @type {Array<() => void>} */
  #draining = []
  #writer = randomBytes(9).toString('base64url')
  #count = 0
  #batchCount = 0
  #lastAcked = 0

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  get pendingSize () {
    return this.#pendingSize
  }

  get needsDrain () {
    return this.#pendingSize > Math.min(DRAIN_SIZE, this.#core.options.maxPendingSize / 2)
  }

  /** @param {() => void} cb  runs once `needsDrain` is false */
  whenDrained (cb) {
    if (this.needsDrain) this.#draining.push(cb)
    else cb()
  }

  get overload () {
    const { place, maxPendingSize } = this.#core.options
    return this.#pendingSize < maxPendingSize ? null : overloaded(place, this.#pendingSize, maxPendingSize)
  }

  /** Counts records that wait. @param {number} size */
  reserve (size) {
    this.#pendingSize += size
  }

  /** @param {number} size  of records that wait no more */
  free (size) {
    this.#pendingSize -= size
    if (this.needsDrain) return
    for (const cb of this.#draining.splice(0)) process.nextTick(cb)
  }

  /** @type {(records: Buffer[], ids: readonly string[] | null, done: Done) => void} */
  append (records, ids, done) {
    const { since } = this.#core
    const err = this.#core.failure ?? this.#checkSizes(records)
    if (err !== null) return done(err)
    if (records.length === 0) return process.nextTick(done, null, since.value)
    const messages = records.map((data, index) => ({ data, id: ids?.[index] ?? `${this.#writer}.${this.#count++}` }))
    const size = records.reduce((sum, { length }) => sum + length, 0)
    this.#queue.push({ messages, size, isOnce: ids !== null, done })
    this.#pumping ??= this.#pump()
  }

  /** @param {Buffer[]} records @returns {LogError | null} */
  #checkSizes (records) {
    const { connection: { nc }, options: { maxRecordSize, stream }, opened: { messageSizeMax } } = this.#core
    const messageMax = Math.min(nc.info?.max_payload ?? Infinity, messageSizeMax)
    const sizeMax = Math.min(maxRecordSize, messageMax - HEADERS_SIZE - stream.length)
    const index = records.findIndex(({ length }) => length > sizeMax)
    if (index === -1) return null
    return new LogError('ERR_RECORD_TOO_LARGE', `append: a record of ${records[index].length} bytes is above the limit, ${sizeMax}; nothing was ` +
      'written. Split it, or raise max_payload of the server and max_msg_size of the stream', { index })
  }

  async #pump () {
    while (true) {
      // What is appended in this turn goes along.
      await null
      const group = this.#takeGroup()
      if (group.length === 0) break
      await this.#publish(group)
    }
    this.#pumping = null
  }

  /** Appends that fit into one atomic batch; a larger one is a group of its own. */
  #takeGroup () {
    let count = 0
    let size = 0
    let end = 0
    for (const waiting of this.#queue) {
      count += waiting.messages.length
      size += waiting.size
      const isTooMuch = count > BATCH_COUNT_MAX || size > GROUP_SIZE_MAX
      if (end > 0 && (isTooMuch || waiting.isOnce || this.#queue[0].isOnce)) break
      end++
    }
    return this.#queue.splice(0, end)
  }

  /** @param {Waiting[]} group */
  async #publish (group) {
    let seqs
    try {
      seqs = await this.#send(group)
    } catch (err) {
      if (group.length > 1 && this.#isOfRecord(err)) {
        for (const waiting of group) await this.#publish([waiting])
        return
      }
      const failure = /** @type {LogError} */ (err)
      if (failure.code === 'ERR_LOG_REPLACED') this.#core.fail(failure)
      for (const { done } of group) rethrowAsync(() => done(failure))
      return
    }
    let end = 0
    const ends = group.map(({ messages }) => { end += messages.length; return end })
    this.#core.show(Math.max(...ends.map((end) => seqs[end - 1])))
    for (const [index, { done }] of group.entries()) rethrowAsync(() => done(null, seqs[ends[index] - 1]))
  }

  /** Whether it may be one record's fault. @param {any} err */
  #isOfRecord (err) {
    return ['ERR_RECORD_TOO_LARGE', 'ERR_LOG_FULL'].includes(err.code)
  }

  /** @param {Waiting[]} group @returns {Promise<number[]>}  the seq of each record */
  async #send (group) {
    const { connection, opened: { isAtomic } } = this.#core
    const messages = group.flatMap(({ messages }) => messages)
    /** @type {number[]} */
    const seqs = []
    for (let start = 0; start < messages.length; start += BATCH_COUNT_MAX) {
      const batch = messages.slice(start, start + BATCH_COUNT_MAX)
      seqs.push(...await connection.retry('append', () => {
        return batch.length > 1 && isAtomic ? this.#sendBatch(batch, group[0].isOnce) : this.#sendWindow(batch)
      }))
    }
    return seqs
  }

  /** @param {Message} message */
  async #sendOne (message) {
    return this.#checkAck(parseAnswer(await this.#request(message, this.#headersOf(message))))
  }

  /** @param {Message} message */
  #headersOf ({ id }) {
    const all = headers()
    all.set('Nats-Msg-Id', id)
    // If another stream has taken the subject over, the server refuses the record.
    all.set('Nats-Expected-Stream', this.#core.options.stream)
    return all
  }

  /** @type {(message: Message, headers: Headers) => ReturnType<import('./connection').Connection['request']>} */
  #request ({ data }, headers) {
    const { connection, options: { subject } } = this.#core
    return connection.request(subject, data, headers)
  }

  /** @type {(messages: Message[], isOnce: boolean) => Promise<number[]>} */
  async #sendBatch (messages, isOnce) {
    const { connection: { nc }, options: { subject } } = this.#core
    const batchId = `${this.#writer}.${this.#batchCount++}`
    const last = messages.length - 1
    const headersAt = (/** @type {number} */ index) => {
      const all = this.#headersOf(messages[index])
      all.set('Nats-Batch-Id', batchId)
      all.set('Nats-Batch-Sequence', String(index + 1))
      return all
    }
    for (let index = 0; index < last; index++) nc.publish(subject, messages[index].data, { headers: headersAt(index) })
    const commit = headersAt(last)
    commit.set('Nats-Batch-Commit', '1')
    try {
      return seqsUpTo(this.#checkAck(parseAnswer(await this.#request(messages[last], commit))), messages.length)
    } catch (err) {
      if (numberOf(err) !== NUMBER.containsDuplicate) throw err
    }
    // The batch is there already, as a whole: then the last record tells its seq, and nothing is added. But if the
    // caller gave the ids, any part of it may be there.
    if (!isOnce) return seqsUpTo(await this.#sendOne(messages[last]), messages.length)
    const seqs = []
    for (const message of messages) seqs.push(await this.#sendOne(message))
    return seqs
  }

  /** All are under way at the same time; they are acknowledged in order. @param {Message[]} messages */
  async #sendWindow (messages) {
    if (messages.length === 1) return [await this.#sendOne(messages[0])]
    const sent = messages.map((message) => this.#sendOne(message))
    const results = await Promise.allSettled(sent)
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason
    return results.map((result) => /** @type {PromiseFulfilledResult<number>} */ (result).value)
  }

  /** @param {{ stream: string, seq: number, duplicate?: boolean }} ack */
  #checkAck ({ stream, seq, duplicate }) {
    const { options } = this.#core
    if (stream !== options.stream) {
      throw new LogError('ERR_LOG_REPLACED', `append: the subject ${options.subject} leads to the stream ${stream} now, not to ${options.place}`,
        { path: options.place })
    }
    // Seqs only rise, so the stream was made anew.
    if (!duplicate && seq <= this.#lastAcked) throw replaced('append', options.place)
    if (!duplicate) this.#lastAcked = seq
    return seq
  }

  /** @returns {Promise<void>}  once everything that was appended has called back */
  async settled () {
    while (this.#pumping !== null) await this.#pumping
  }
}

/** The seqs of an atomic batch follow each other. @type {(last: number, count: number) => number[]} */
function seqsUpTo (last, count) {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index)
}

exports.BATCH_COUNT_MAX = BATCH_COUNT_MAX
exports.Publisher = Publisher
