'use strict'
// Sets records aside that the sink refuses for good: in a log beside the cursor, in a log of the user, or by a function
// of the user. What was added is safe when `add` resolves; only then may the cursor pass the record.

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { readBytes } = require('./reading')

/**
 * An entry of the log of refused records. It is on stable storage before the cursor passes the record: after a crash it
 * may be there twice, but never missing. A record that the codec cannot decode has an entry, too. To send refused
 * records again, make a forwarder for this log: its sink gets the entries.
 * @typedef {object} RefusedRecord
 * @property {string} log  the id of the log, or of the cursor if the log has none
 * @property {number} seq
 * @property {string} message  why
 * @property {string} time  when, as an ISO date
 * @property {unknown} [value]
 * @property {string} [bytes]  base64 of the record's bytes, if JSON cannot hold the value, or the value does not decode
 * @property {number} [to]  if the sink did not say which records it refused: `count` of those from `seq` to this seq
 * @property {number} [count]
 */

/** @typedef {(record: RefusedRecord) => unknown} OnRefused  may return a promise */

class RefusedRecords {
  #source
  #target
  #path
  #storage
  /** Opened with the first record. @type {import('@millrace/offset-log').OffsetLog | null} */
  #own = null

  /**
   * @param {any} source  the log that is forwarded
   * @param {{ target: any, path: string, storage: import('@millrace/block-file').Storage }} options
   */
  constructor (source, { target, path, storage }) {
    this.#source = source
    this.#target = target
    this.#path = path
    this.#storage = storage
  }

  /**
   * @param {string} log
   * @param {import('./reading').Entry} entry
   * @param {string} message
   */
  async add (log, { seq, value, error }, message) {
    const record = { log, seq, message, time: new Date().toISOString() }
    if (error === null && isJson(value)) return this.#put({ ...record, value })
    const bytes = await readBytes(this.#source, seq)
    // Deleted meanwhile: its contents must not come back from here.
    if (bytes !== null) await this.#put({ ...record, bytes: bytes.toString('base64') })
  }

  /**
   * Notes that the sink refused some of a batch without saying which.
   * @type {(log: string, range: { seq: number, to: number, count: number }, message: string) => Promise<void>}
   */
  addRange (log, range, message) {
    return this.#put({ log, message, time: new Date().toISOString(), ...range })
  }

  /** @param {RefusedRecord} record */
  async #put (record) {
    if (typeof this.#target === 'function') {
      await this.#target(record)
    } else if (this.#target) {
      await this.#target.append(record)
      await this.#target.sync()
    } else {
      this.#own ??= OffsetLog(this.#path, { codec: jsonCodec, fsync: 'always', storage: this.#storage })
      await this.#own.append(record).catch(async (err) => {
        // It may be poisoned. The next try opens it again.
        await this.close()
        throw err
      })
    }
  }

  async close () {
    const log = this.#own
    this.#own = null
    await log?.close().catch(() => {})
  }
}

/** @param {unknown} value */
function isJson (value) {
  try {
    jsonCodec.encode(value)
    return true
  } catch {
    return false
  }
}

exports.RefusedRecords = RefusedRecords
