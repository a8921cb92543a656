'use strict'
// Makes the records of the new log, and asks what to do with those that cannot be made.

/**
 * @typedef {import('./options').OnBadRecord} OnBadRecord
 * @typedef {import('./record-reader').RecordReader} RecordReader
 */

// A batch is held in memory twice.
const BATCH_SIZE_MAX = 4 * 1024 * 1024

class RecordMaker {
  /**
   * @param {import('./transcoder').Transcoder} transcoder
   * @param {OnBadRecord} onBadRecord
   */
  constructor (transcoder, onBadRecord) {
    this.isSame = transcoder.isSame
    /** How many records were left out. */
    this.leftOut = 0
    this._transcoder = transcoder
    this._onBadRecord = onBadRecord
  }

  /**
   * @param {Buffer} bytes
   * @param {number} seq
   * @returns {Buffer | null}  null for a record that is to be left out
   * @throws what the codecs or the user's function threw
   */
  make (bytes, seq) {
    try {
      return this._transcoder.encode(bytes, seq)
    } catch (err) {
      if (this._onBadRecord(/** @type {any} */ (err), { seq, bytes }) !== true) throw err
      this.leftOut++
      return null
    }
  }

  /**
   * @param {Buffer} bytes
   * @param {number} seq
   * @returns {boolean}  whether it cannot be made
   */
  isBad (bytes, seq) {
    try {
      this._transcoder.encode(bytes, seq)
      return false
    } catch {
      return true
    }
  }

  /**
   * Adds records to a batch, as far as they are at hand.
   * @param {RecordReader} reader
   * @param {Batch} batch
   * @throws as `make`
   */
  makeBatch (reader, batch) {
    for (; reader.hasRecord && !batch.isFull; reader.advance()) {
      const record = this.make(reader.bytes, reader.seq)
      if (record !== null) batch.add(record)
    }
  }
}

class Batch {
  /** @param {number} countMax */
  constructor (countMax) {
    /** @type {Buffer[]} */
    this.records = []
    this._countMax = countMax
    this._size = 0
  }

  get isFull () {
    return this.records.length >= this._countMax || this._size >= BATCH_SIZE_MAX
  }

  /** @param {Buffer} record */
  add (record) {
    this.records.push(record)
    this._size += record.length
  }
}

exports.Batch = Batch
exports.RecordMaker = RecordMaker
