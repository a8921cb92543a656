'use strict'
// Any log as the target of a shipper. Each record there says where it came from, so that the target alone tells what
// it has: `{ log, seq, value }`, with the id of the source and the seq there. Bytes have a head instead: 16 bytes of
// the id, and the seq as an unsigned integer of 8 bytes, big-endian.

const { isUint8Array } = require('node:util').types
const { LogError } = require('@millrace/errors')
const { judgeRecord } = require('@millrace/offset-log/composing')
const { refused } = require('../outcomes')
const { taken } = require('./log-sink')

const ID_SIZE = 16
const HEAD_SIZE = ID_SIZE + 8
/** What an open log never recovers from. */
const PERMANENT = new Set(['ERR_LOG_CLOSED', 'ERR_LOG_POISONED', 'ERR_LOG_READ_ONLY', 'ERR_LOG_FULL', 'ERR_CODEC_MISMATCH',
  'ERR_LOG_CORRUPT'])

/** It is one record's fault. */
const OF_RECORD = new Set(['ERR_CODEC_ENCODE', 'ERR_RECORD_TOO_LARGE', 'ERR_RECORD_UNREPRESENTABLE'])

/** @typedef {import('./log-sink').ShippedRecord} ShippedRecord */

class LogTarget {
  #log
  /** Whether values may be bytes without a codec. */
  #isPlain = false
  /** What the log shows as its end, and the last seq that it has given. */
  #end = { shown: -1, since: -1 }

  /** @param {any} log */
  constructor (log) {
    this.#log = log
    this.name = log.filename
  }

  /** @type {import('./log-sink').Target['readEnd']} */
  async readEnd (noted = -1) {
    await this.#log.ready().catch((/** @type {Error} */ err) => { throw failed(this.name, err) })
    try {
      const { id = null, codec = null } = await this.#log.stats()
      this.#isPlain = codec === null || codec === 'bytes'
      const shown = this.#log.since.value
      // A log that was opened again after its last records were deleted ends before them.
      const since = noted > shown && await judgeRecord(this.#log, noted) === 'deleted' ? noted : shown
      this.#end = { shown, since }
      const last = await this.#log.last()
      return { id, since, last: last === undefined ? null : unwrap(last) }
    } catch (/** @type {any} */ err) {
      throw PERMANENT.has(err.code) ? failed(this.name, err) : err
    }
  }

  /** @type {import('./log-sink').Target['append']} */
  async append (records, { log, after }) {
    const target = this.#log
    const { shown, since } = this.#end
    const end = target.since.value === shown ? since : target.since.value
    if (end !== after || target.pendingSize > 0) throw taken(`${this.name} has changed after ${after}`)
    try {
      return await target.append(records.map((record) => this.#wrap(log, record)))
    } catch (/** @type {any} */ err) {
      if (PERMANENT.has(err.code)) throw failed(this.name, err)
      throw OF_RECORD.has(err.code) ? refused(err.message, { cause: err }) : err
    }
  }

  async sync () {
    try {
      await this.#log.sync()
    } catch (/** @type {any} */ err) {
      throw PERMANENT.has(err.code) ? failed(this.name, err) : err
    }
  }

  /** @param {{ signal?: AbortSignal }} options */
  async * read ({ signal }) {
    for await (const item of this.#log.stream({ signal })) yield unwrap(item)
  }

  /** @type {(log: string, record: { seq: number, value: any }) => any} */
  #wrap (log, { seq, value }) {
    if (!this.#isPlain || !isUint8Array(value)) return { log, seq, value }
    const head = Buffer.alloc(HEAD_SIZE)
    head.write(log, 'hex')
    head.writeBigUInt64BE(BigInt(seq), ID_SIZE)
    return Buffer.concat([head, value])
  }
}

/** @type {(item: { seq: number, value: any }) => ShippedRecord} */
function unwrap ({ seq: at, value: stored }) {
  if (isUint8Array(stored)) return unwrapBytes(at, Buffer.from(stored.buffer, stored.byteOffset, stored.length))
  const { log, seq, value } = stored ?? {}
  if (typeof log === 'string' && Number.isSafeInteger(seq)) return { at, log, seq, value }
  return { at, log: null, seq: -1, value: stored }
}

/** @type {(at: number, bytes: Buffer) => ShippedRecord} */
function unwrapBytes (at, bytes) {
  const seq = bytes.length < HEAD_SIZE ? NaN : Number(bytes.readBigUInt64BE(ID_SIZE))
  if (!Number.isSafeInteger(seq)) return { at, log: null, seq: -1, value: bytes }
  return { at, log: bytes.toString('hex', 0, ID_SIZE), seq, value: bytes.subarray(HEAD_SIZE) }
}

/** @type {(name: string, cause: any) => LogError} */
function failed (name, cause) {
  return new LogError('ERR_SHIP_TARGET_FAILED', `${name} takes nothing more: ${cause.message}. Open it again, and make a new ` +
    'shipper', { cause })
}

/** @type {(log: any) => import('./log-sink').Target} */
function targetOf (log) {
  return typeof log.shipTarget === 'function' ? log.shipTarget() : new LogTarget(log)
}

exports.targetOf = targetOf
