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
const { ATTEMPT_MS_MAX, DEPOSED_MS_MAX } = require('./connection')
const { LOOK_AGAIN_MS } = require('./core')
const { NUMBER, numberOf, wrap } = require('./failures')
const { Messages } = require('./messages')
const { Puller } = require('./pulling')
const { mayDrop, mayExpire } = require('./opening')
const { BEHIND_COUNT_MAX, BEHIND_MS, findNext } = require('./reader')

const MESSAGE_ID = /^([0-9a-f]{32})-(\d{1,16})(?:-[\w-]+)?$/
/** How many records are read with one request. */
const READ_COUNT = 1000
/** Another record came first; or the server has seen this one. */
const CONFLICTS = [10071, 10164, NUMBER.containsDuplicate]
/** The log has to be opened again. */
const PERMANENT = new Set(['ERR_LOG_REPLACED', 'ERR_LOG_CLOSED', 'ERR_CODEC_MISMATCH', 'ENOENT', 'ERR_NOT_SUPPORTED'])

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('@millrace/forwarder').ShipTarget} Target
 * @typedef {import('./messages').Message} Message
 * @typedef {import('@nats-io/transport-node').MsgHdrs} Headers
 */

/** @implements {Target} */
class ShipTarget {
  #core
  #ready
  #messages
  /** What comes after the ids. */
  #again = ''
  /** Whether one server may refuse what another one takes, because it does not know yet that it leads no more. */
  #isReplicated = false

  /** @param {Core} core @param {() => Promise<void>} ready */
  constructor (core, ready) {
    this.#core = core
    this.#ready = ready
    this.#messages = new Messages(core)
    this.name = core.options.place
  }

  /** @type {Target['readEnd']} */
  async readEnd (noted) {
    const core = this.#core
    await this.#ready().catch((err) => { throw this.#failed(err) })
    const { opened } = core
    return this.#call(async () => {
      const { config, state: { first_seq: first, last_seq: since }, message } = await this.#look(noted)
      const last = message === null ? null : this.#toShipped(message.seq, message.header, message.data)
      this.#isReplicated = config.num_replicas > 1
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
   * it, may say an older record, or fewer than another shipper has noted. Then both are asked again.
   */
  async #look (noted = 0) {
    const core = this.#core
    const { connection: { manager }, options: { stream, subject } } = core
    const ask = () => manager.streams.getMessage(stream, { last_by_subj: subject })
    const deadlineMs = performance.now() + DEPOSED_MS_MAX
    for (;;) {
      const { config, state } = await core.look('ship')
      const message = state.last_seq === 0 ? null : await core.ask('ship', ask)
      const last = message?.seq ?? 0
      const isBehind = config.num_replicas > 1 &&
        (state.last_seq < noted || (last < state.last_seq && await core.findMessage('ship', last + 1) !== null))
      if (!isBehind || performance.now() > deadlineMs) return { config, state, message }
      await pause(LOOK_AGAIN_MS)
    }
  }

  /** @type {Target['append']} */
  async append (records, { log, after }) {
    let since = after
    for (const { part, isBatch } of this.#messages.divide(this.#encode(records, log))) {
      since = await this.#call(() => isBatch ? this.#appendBatch(part, since) : this.#appendWindow(part, since))
    }
    this.#core.show(since)
    return since
  }

  /** @type {(records: Array<{ seq: number, value: any }>, log: string) => Message[]} */
  #encode (records, log) {
    const { options: { codec } } = this.#core
    const { sizeMax } = this.#messages
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

  /** @type {(messages: Message[], after: number) => Promise<number>} */
  async #appendBatch (messages, after) {
    return this.#check(await this.#messages.sendBatch(messages, expect(after)), after + messages.length)
  }

  /**
   * All are under way at the same time. Each names the seq before it, so those that arrive have no gaps.
   * @type {(messages: Message[], after: number) => Promise<number>}
   */
  async #appendWindow (messages, after) {
    const sent = messages.map(async (message, index) => {
      return this.#check(await this.#messages.send(message, expect(after + index)), after + index + 1)
    })
    const failures = (await Promise.allSettled(sent)).flatMap((result) => result.status === 'rejected' ? [result.reason] : [])
    // A conflict may only follow from the failure of a message before.
    const unknown = failures.find((err) => !isConflict(err))
    if (failures.length > 0) throw unknown ?? failures[0]
    return after + messages.length
  }

  /** @type {(ack: import('./known').Ack, expected: number) => number} */
  #check (ack, expected) {
    if (ack.stream === this.#core.options.stream && ack.seq === expected && !ack.duplicate) return ack.seq
    if (ack.duplicate) this.#useOtherIds()
    throw this.#conflict(`it says ${JSON.stringify(ack)}, and the seq ${expected} was expected`)
  }

  /** Those that the server has seen are refused, also if it has lost the record since. */
  #useOtherIds () {
    this.#again = `-${randomBytes(6).toString('base64url')}`
  }

  /** The servers acknowledge a record when they have it; they cannot be asked for more. */
  async sync () {}

  /** @type {Target['read']} */
  async * read ({ signal }) {
    const core = this.#core
    const { connection: { manager }, options: { stream } } = core
    const { state } = await this.#call(() => core.look('ship'))
    const stop = state.last_seq + 1
    const puller = new Puller(core)
    let behindCount = 0
    for (let from = Math.max(1, state.first_seq); from < stop;) {
      signal?.throwIfAborted()
      const found = await this.#call(() => core.ask('ship', () => puller.pull(from, stop, READ_COUNT)))
      for (const { seq, data, message } of found) yield this.#toShipped(seq, message?.headers, data)
      if (found.length > 0) {
        from = found[found.length - 1].seq + 1
        behindCount = 0
        continue
      }
      // The rest was deleted, or the server that was asked is behind.
      const next = await this.#call(() => findNext(core, from, stop))
      const isBehind = next === from
      from = next
      if (!isBehind) continue
      if (++behindCount <= BEHIND_COUNT_MAX) {
        await pause(BEHIND_MS)
        continue
      }
      // No replica has it, for long. If the leader lacks it now, it is asked again which one comes next.
      const message = await this.#call(() => core.ask('ship', () => manager.streams.getMessage(stream, { seq: next })))
      if (message === null) continue
      yield this.#toShipped(message.seq, message.header, message.data)
      from++
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
    const message = `${this.name} has changed: ${found}`
    if (!this.#isReplicated) return new LogError('ERR_SHIP_TARGET_TAKEN', message, { cause })
    return new LogError('ERR_SERVER_UNAVAILABLE', `${message}; if this server leads no more, another one may have the records`, { cause })
  }

  /** @param {any} cause */
  #failed (cause) {
    return new LogError('ERR_SHIP_TARGET_FAILED', `${cause.message}. Then make a new shipper`, { cause })
  }
}

/** The server refuses a message that does not come next. @param {number} after  the seq before it */
function expect (after) {
  return { 'Nats-Expected-Last-Sequence': String(after) }
}

/** @param {unknown} err */
function isConflict (err) {
  return CONFLICTS.includes(numberOf(err)) || /** @type {any} */ (err)?.code === 'ERR_SHIP_TARGET_TAKEN'
}

exports.ShipTarget = ShipTarget
