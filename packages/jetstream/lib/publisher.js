'use strict'
// Appends. What was appended in one turn of the event loop, or while the group before was under way, is one group. It
// is published as one atomic batch if the stream allows that, and in a window of messages otherwise.
//
// Each record has a message id. If no answer comes, the group is published again with the same ids: the server adds
// nothing that it has already.

const { randomBytes } = require('node:crypto')
const { nextTick } = require('node:process')
const { LogError } = require('@millrace/errors')
const { pause, rethrowAsync } = require('@millrace/flow')
const { BackPressure, sizeOf } = require('@millrace/offset-log/composing')
const { NUMBER, numberOf } = require('./failures')
const { BATCH_COUNT_MAX, Messages } = require('./messages')

const GROUP_SIZE_MAX = 8 << 20
/** A leader that was deposed steps down within that time, once it hears of the new one. */
const STEP_DOWN_MS = 1000

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./known').Known} Known
 * @typedef {(err: Error | null, seq?: any) => void} Done  gets a seq, or a list of them
 * @typedef {{ data: Buffer, id: string, seq?: number }} Message  `seq` once it is acknowledged alone
 * @typedef {{ ids: readonly string[] | null, givesSeqs: boolean }} How  the ids are null if the caller gives none
 *
 * @typedef {object} Waiting  one append
 * @property {Message[]} messages
 * @property {number} size  in bytes
 * @property {boolean} isOnce  whether the caller gave the ids: some of the records may be there already, from before
 * @property {boolean} givesSeqs  whether `done` gets the seqs of all records; else it gets the seq of the last one
 * @property {Done} done
 */

class Publisher {
  #core
  /** @type {Waiting[]} */
  #queue = []
  #isPumping = false
  /** How many appends were queued, and how many of these have called back. They do so in order. */
  #queuedCount = 0
  #settledCount = 0
  /** Who waits until so many have called back. @type {Array<{ count: number, tell: () => void }>} */
  #waiting = []
  /** Before the number of a message, in its id. */
  #writer = randomBytes(9).toString('base64url')
  #count = 0
  #messages

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
    this.#messages = new Messages(core)
    const { place, maxPendingSize } = core.options
    this.backPressure = new BackPressure(maxPendingSize, place)
  }

  /**
   * The log is open, or was closed while it was being opened: closing waits until the append has called back.
   * @type {(records: Buffer[], how: How, cb: Done) => void}
   */
  append (records, { ids, givesSeqs }, cb) {
    const { failure, lifecycle, opened, options: { codec, place }, since } = this.#core
    const size = sizeOf(records)
    this.backPressure.reserve(size)
    lifecycle.enter()
    /** @type {Done} */
    const done = (err, result) => {
      this.backPressure.free(size)
      lifecycle.leave()
      if (err) nextTick(cb, err)
      else cb(null, result)
    }
    // Bytes of no known codec may be read from any log, but not appended to it.
    const err = failure ?? codec.compareName(opened.codec, place, 'append') ?? this.#checkSizes(records)
    if (err !== null) return done(err)
    if (records.length === 0) return nextTick(done, null, givesSeqs ? [] : since.value)
    const messages = records.map((data, index) => ({ data, id: ids?.[index] ?? `${this.#writer}.${this.#count++}` }))
    this.#queue.push({ messages, size, isOnce: ids !== null, givesSeqs, done })
    this.#queuedCount++
    if (!this.#isPumping) this.#pump()
  }

  /** @param {Buffer[]} records @returns {LogError | null} */
  #checkSizes (records) {
    const { sizeMax } = this.#messages
    const index = records.findIndex(({ length }) => length > sizeMax)
    if (index === -1) return null
    return new LogError('ERR_RECORD_TOO_LARGE', `append: a record of ${records[index].length} bytes is above the limit, ${sizeMax}; nothing was ` +
      'written. Split it, or raise max_payload of the server and max_msg_size of the stream', { index })
  }

  async #pump () {
    this.#isPumping = true
    while (true) {
      // What is appended in this turn goes along.
      await null
      const group = this.#takeGroup()
      if (group.length === 0) break
      await this.#publish(group)
    }
    this.#isPumping = false
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

  /** @param {Waiting[]} group  @param {boolean} [isRefused]  whether it was refused before, perhaps with others */
  async #publish (group, isRefused = false) {
    let seqs
    try {
      seqs = await this.#send(group)
    } catch (err) {
      // A leader that others have deposed may be full while the new one has room, and takes the records.
      const isUnsure = /** @type {any} */ (err).code === 'ERR_LOG_FULL' && this.#core.opened.replicas > 1
      if (!isRefused && (isUnsure || (group.length > 1 && this.#isOfRecord(err)))) {
        if (isUnsure) await pause(STEP_DOWN_MS)
        for (const waiting of group) await this.#publish([waiting], true)
        return
      }
      for (const { done } of group) rethrowAsync(() => done(/** @type {LogError} */ (err)))
      this.#noteSettled(group.length)
      return
    }
    let end = 0
    const ends = group.map(({ messages }) => { end += messages.length; return end })
    this.#core.show(Math.max(...ends.map((end) => seqs[end - 1])))
    for (const [index, { done, givesSeqs, messages }] of group.entries()) {
      const end = ends[index]
      rethrowAsync(() => done(null, givesSeqs ? seqs.slice(end - messages.length, end) : seqs[end - 1]))
    }
    this.#noteSettled(group.length)
  }

  /** @param {number} count  of appends that have called back */
  #noteSettled (count) {
    this.#settledCount += count
    const waiting = this.#waiting
    this.#waiting = waiting.filter(({ count }) => count > this.#settledCount)
    for (const { count, tell } of waiting) if (count <= this.#settledCount) tell()
  }

  /** Whether it may be one record's fault. @param {any} err */
  #isOfRecord (err) {
    return ['ERR_RECORD_TOO_LARGE', 'ERR_LOG_FULL'].includes(err.code)
  }

  /** @param {Waiting[]} group @returns {Promise<number[]>}  the seq of each record */
  async #send (group) {
    const core = this.#core
    /** @type {number[]} */
    const seqs = []
    for (const { part, isBatch } of this.#messages.divide(group.flatMap(({ messages }) => messages))) {
      seqs.push(...await core.ask('append', (known) => {
        return isBatch ? this.#sendBatch(known, part, group[0].isOnce) : this.#sendWindow(known, part)
      }))
      core.note(seqs[seqs.length - 1])
    }
    return seqs
  }

  /** @type {(known: Known, message: Message) => Promise<number>} */
  async #sendOne (known, message) {
    return known.checkAck(await this.#messages.send(message))
  }

  /** @type {(known: Known, messages: Message[], isOnce: boolean) => Promise<number[]>} */
  async #sendBatch (known, messages, isOnce) {
    try {
      return seqsUpTo(known.checkAck(await this.#messages.sendBatch(messages)), messages.length)
    } catch (err) {
      if (numberOf(err) !== NUMBER.containsDuplicate) throw err
    }
    // The batch is there already, as a whole. But if the caller gave the ids, any part of it may be there; and a first
    // part, if a server that is alone lost the rest in a power cut. So the first record is sent alone: that is right
    // in any case, and tells where the last one should be.
    const seqs = [await this.#sendOne(known, messages[0])]
    const last = seqs[0] + messages.length - 1
    if (!isOnce && await this.#isAt(last, messages[messages.length - 1])) return seqsUpTo(last, messages.length)
    for (const message of messages.slice(1)) seqs.push(await this.#sendOne(known, message))
    return seqs
  }

  /** @type {(seq: number, message: Message) => Promise<boolean>} */
  async #isAt (seq, { id }) {
    const { connection: { manager }, options: { stream } } = this.#core
    const found = await manager.streams.getMessage(stream, { seq })
    return found?.header?.get('Nats-Msg-Id') === id
  }

  /**
   * All are under way at the same time; they arrive in order.
   * @type {(known: Known, messages: Message[]) => Promise<number[]>}
   */
  async #sendWindow (known, messages) {
    const sent = messages.map(async (message) => {
      message.seq ??= await this.#sendOne(known, message)
      return message.seq
    })
    const results = await Promise.allSettled(sent)
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed) throw /** @type {PromiseRejectedResult} */ (failed).reason
    return results.map((result) => /** @type {PromiseFulfilledResult<number>} */ (result).value)
  }

  /** @returns {Promise<void>}  once everything that was appended before the call has called back */
  async settled () {
    const count = this.#queuedCount
    if (count === this.#settledCount) return
    await new Promise((resolve) => this.#waiting.push({ count, tell: () => resolve(null) }))
  }
}

/** The seqs of an atomic batch follow each other. @type {(last: number, count: number) => number[]} */
function seqsUpTo (last, count) {
  return Array.from({ length: count }, (_, index) => last - count + 1 + index)
}

exports.Publisher = Publisher
