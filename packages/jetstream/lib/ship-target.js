'use strict'
// A stream as the target of a shipper. Each record names its source in its message id, `<id of the log>-<seq>`, which
// stays in the header of the message. So the last message tells what has arrived, long after the server has forgotten
// the ids. Each append names the last seq that the stream should have: the server refuses it if another one came first.
// The server may still remember, and refuse, the ids of records that the stream has lost. If these are shipped again,
// another text comes behind: `<id of the log>-<seq>-<text>`.

const { Buffer } = require('node:buffer')
const { randomBytes } = require('node:crypto')
const { LogError } = require('@millrace/errors')
const { refused } = require('@millrace/forwarder')
const { pause } = require('@millrace/flow')
const { headers } = require('@nats-io/transport-node')
const { ATTEMPT_MS_MAX, parseAnswer } = require('./connection')
const { DEPOSED_MS_MAX, LOOK_AGAIN_MS } = require('./core')
const { NUMBER, numberOf, wrap } = require('./failures')
const { Puller } = require('./pulling')
const { mayDrop, mayExpire } = require('./opening')
const { findNext } = require('./reader')

const MESSAGE_ID = /^([0-9a-f]{32})-(\d{1,16})(?:-[\w-]+)?$/
/** The server's limit on an atomic batch. */
const BATCH_COUNT_MAX = 1000
/** How many records are read with one request. */
const READ_COUNT = 1000
/** A server that is behind catches up within that time. */
const BEHIND_MS = 20
/** What the headers of a message take at most. */
const HEADERS_SIZE = 512
/** Another record came first; or the server has seen this one. */
const CONFLICTS = [10071, 10164, NUMBER.containsDuplicate]
/** The log has to be opened again. */
const PERMANENT = new Set(['ERR_LOG_REPLACED', 'ERR_LOG_CLOSED', 'ERR_CODEC_MISMATCH', 'ENOENT', 'ERR_NOT_SUPPORTED'])

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('@millrace/forwarder').ShipTarget} Target
 * @typedef {{ id: string, data: Buffer }} Message
 * @typedef {import('@nats-io/transport-node').MsgHdrs} Headers
 */

/** @implements {Target} */
class ShipTarget {
  #core
  #ready
  /** Batches of a shipper that was killed may be open still, so their ids must not come again. */
  #batchPrefix = randomBytes(9).toString('base64url')
  #batchCount = 0
  /** What comes behind the ids. */
  #again = ''

  /** @param {Core} core @param {() => Promise<void>} ready */
  constructor (core, ready) {
    this.#core = core
    this.#ready = ready
    this.name = core.options.place
  }

  /** @type {Target['readEnd']} */
  async readEnd () {
    const core = this.#core
    await this.#ready().catch((err) => { throw this.#failed(err) })
    const { opened } = core
    return this.#call(async () => {
      const { config, state: { first_seq: first, last_seq: since }, message } = await this.#look()
      const last = message === null ? null : this.#toShipped(message.seq, message.header, message.data)
      if (last === null && since > 0) this.#useOtherIds()
      return {
        id: `${opened.id ?? ''}@${opened.created}`,
        // Between the two questions something may have arrived.
        since: Math.max(since, last?.at ?? 0),
        last,
        first: last === null ? null : first,
        keeps: mayExpire(config) ? 'none' : mayDrop(config) ? 'last' : 'all'
      }
    })
  }

  /**
   * The stream, and the last record of it. A server that was its leader, and does not know yet that others have deposed
   * it, may say an older record. Then both are asked again.
   */
  async #look () {
    const core = this.#core
    const { connection: { manager }, options: { stream, subject } } = core
    const ask = () => manager.streams.getMessage(stream, { last_by_subj: subject })
    const deadlineMs = performance.now() + DEPOSED_MS_MAX
    for (;;) {
      const { config, state } = await core.look('ship')
      const message = state.last_seq === 0 ? null : await core.ask('ship', ask)
      const isWhole = state.messages > 0 && !state.num_deleted
      const isBehind = config.num_replicas > 1 && isWhole && (message?.seq ?? 0) < state.last_seq
      if (!isBehind || performance.now() > deadlineMs) return { config, state, message }
      await pause(LOOK_AGAIN_MS)
    }
  }

  /** @type {Target['append']} */
  async append (records, { log, after }) {
    const messages = this.#encode(records, log)
    const { opened: { isAtomic } } = this.#core
    let since = after
    for (let start = 0; start < messages.length; start += BATCH_COUNT_MAX) {
      const part = messages.slice(start, start + BATCH_COUNT_MAX)
      const isBatch = isAtomic && part.length > 1
      since = await this.#call(() => isBatch ? this.#appendBatch(part, since) : this.#appendWindow(part, since))
    }
    this.#core.show(since)
    return since
  }

  /** @type {(records: Array<{ seq: number, value: any }>, log: string) => Message[]} */
  #encode (records, log) {
    const { connection: { nc }, options: { codec, maxRecordSize } } = this.#core
    const sizeMax = Math.min(maxRecordSize, (nc.info?.max_payload ?? Infinity) - HEADERS_SIZE)
    return records.map(({ seq, value }) => {
      let bytes
      try {
        bytes = codec.encode(value)
      } catch (/** @type {any} */ err) {
        throw refused(err.message, { cause: err })
      }
      if (bytes.length <= sizeMax) return { id: `${log}-${seq}${this.#again}`, data: bytes }
      throw refused(`the record has ${bytes.length} bytes, and ${this.name} takes at most ${sizeMax}`)
    })
  }

  /** All or nothing. @type {(messages: Message[], after: number) => Promise<number>} */
  async #appendBatch (messages, after) {
    const { connection: { nc }, options: { subject } } = this.#core
    const batchId = `${this.#batchPrefix}.${this.#batchCount++}`
    const last = messages.length - 1
    const headersAt = (/** @type {number} */ index) => {
      const all = this.#headersOf(messages[index], index === 0 ? after : null)
      all.set('Nats-Batch-Id', batchId)
      all.set('Nats-Batch-Sequence', String(index + 1))
      if (index === last) all.set('Nats-Batch-Commit', '1')
      return all
    }
    for (let index = 0; index < last; index++) nc.publish(subject, messages[index].data, { headers: headersAt(index) })
    return this.#send(messages[last], headersAt(last), after + messages.length)
  }

  /**
   * All are under way at the same time. Each names the seq before it, so those that arrive have no gaps.
   * @type {(messages: Message[], after: number) => Promise<number>}
   */
  async #appendWindow (messages, after) {
    const sent = messages.map((message, index) => {
      return this.#send(message, this.#headersOf(message, after + index), after + index + 1)
    })
    const failures = (await Promise.allSettled(sent)).flatMap((result) => result.status === 'rejected' ? [result.reason] : [])
    // A conflict may only follow from the failure of a message in front.
    const unknown = failures.find((err) => !isConflict(err))
    if (failures.length > 0) throw unknown ?? failures[0]
    return after + messages.length
  }

  /** @type {(message: Message, headers: Headers, expected: number) => Promise<number>} */
  async #send ({ data }, headers, expected) {
    const { connection, options: { stream, subject } } = this.#core
    const ack = parseAnswer(await connection.request(subject, data, headers))
    if (ack.stream === stream && ack.seq === expected && !ack.duplicate) return ack.seq
    if (ack.duplicate) this.#useOtherIds()
    throw this.#conflict(`it says ${JSON.stringify(ack)}, and the seq ${expected} was expected`)
  }

  /** Those that the server has seen are refused, also if it has lost the record since. */
  #useOtherIds () {
    this.#again = `-${randomBytes(6).toString('base64url')}`
  }

  /** @type {(message: Message, after: number | null) => Headers} */
  #headersOf ({ id }, after) {
    const all = headers()
    all.set('Nats-Msg-Id', id)
    all.set('Nats-Expected-Stream', this.#core.options.stream)
    if (after !== null) all.set('Nats-Expected-Last-Sequence', String(after))
    return all
  }

  /** The servers acknowledge a record when they have it; they cannot be asked for more. */
  async sync () {}

  /** @type {Target['read']} */
  async * read ({ signal }) {
    const core = this.#core
    const { state } = await this.#call(() => core.look('ship'))
    const stop = state.last_seq + 1
    const puller = new Puller(core)
    for (let from = Math.max(1, state.first_seq); from < stop;) {
      signal?.throwIfAborted()
      const found = await this.#call(() => core.ask('ship', () => puller.pull(from, stop, READ_COUNT)))
      for (const { seq, data, message } of found) yield this.#toShipped(seq, message?.headers, data)
      if (found.length > 0) {
        from = found[found.length - 1].seq + 1
        continue
      }
      // The rest was deleted, or the server that was asked is behind.
      const next = await this.#call(() => findNext(core, from, stop))
      if (next === from) await pause(BEHIND_MS)
      from = next
    }
  }

  /**
   * @param {number} at
   * @param {Headers | undefined} headers
   * @param {Uint8Array} data
   * @returns {import('@millrace/forwarder').ShippedRecord}
   */
  #toShipped (at, headers, data) {
    const [, log, seq] = MESSAGE_ID.exec(headers?.get('Nats-Msg-Id') ?? '') ?? []
    if (log === undefined) return { at, log: null, seq: -1, value: undefined }
    const { codec } = this.#core.options
    return { at, log, seq: Number(seq), value: codec.decode(Buffer.from(data), 0, data.length, at) }
  }

  /**
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  async #call (action) {
    const core = this.#core
    try {
      core.checkUsable()
      return await action()
    } catch (/** @type {any} */ err) {
      if (err.code === 'ERR_SHIP_TARGET_TAKEN') throw err
      if (numberOf(err) === NUMBER.containsDuplicate) this.#useOtherIds()
      if (isConflict(err)) throw this.#conflict(err.message, err)
      const failure = wrap('ship', { ...core.options, timeoutMs: Math.min(ATTEMPT_MS_MAX, core.options.timeoutMs) }, err)
      throw PERMANENT.has(failure.code) || core.lifecycle.isClosed ? this.#failed(failure) : failure
    }
  }

  /** @type {(found: string, cause?: Error) => LogError} */
  #conflict (found, cause) {
    return new LogError('ERR_SHIP_TARGET_TAKEN', `${this.name} has changed: ${found}`, { cause })
  }

  /** @param {any} cause */
  #failed (cause) {
    return new LogError('ERR_SHIP_TARGET_FAILED', `${cause.message}. Then make a new shipper`, { cause })
  }
}

/** @param {unknown} err */
function isConflict (err) {
  return CONFLICTS.includes(numberOf(err)) || /** @type {any} */ (err)?.code === 'ERR_SHIP_TARGET_TAKEN'
}

exports.ShipTarget = ShipTarget
