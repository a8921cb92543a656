'use strict'
// Appends that are written together, as lists that are used again: an object for each append would come from new memory
// each time, and drive the records that are to be copied out of the processor's cache.

/** @typedef {(err: Error | null, seq?: number) => void} Done */

/** It takes the place of what is done with, so that nothing is kept that nobody wants. */
const NO_RECORD = Buffer.alloc(0)

class AppendGroup {
  constructor () {
    /** Of all appends, one after the other. @type {Buffer[]} */
    this.records = []
    /** Where the records of each append end. @type {number[]} */
    this.ends = []
    /** Of the last record of each append, once it is framed. @type {number[]} */
    this.seqs = []
    /** Who waits for it. @type {Done[]} */
    this.dones = []
    /** How many records and how many appends there are: the lists may be longer. */
    this.recordCount = 0
    this.count = 0
    /** Bytes of the frames. */
    this.size = 0
  }

  /** Seq of the last record, once it is framed. */
  get lastSeq () {
    return this.seqs[this.count - 1]
  }

  /**
   * @param {Buffer} record
   * @param {number} size  of its frame
   * @param {Done} done
   */
  addOne (record, size, done) {
    this.records[this.recordCount++] = record
    this._close(size, done)
  }

  /**
   * @param {Buffer[]} records  none in an append that only waits for those before it
   * @param {number} size  of their frames
   * @param {Done} done
   */
  addBatch (records, size, done) {
    let { recordCount } = this
    for (const record of records) this.records[recordCount++] = record
    this.recordCount = recordCount
    this._close(size, done)
  }

  /**
   * @param {number} size
   * @param {Done} done
   */
  _close (size, done) {
    const { count } = this
    this.ends[count] = this.recordCount
    // So that the list has no holes, and stays one of numbers.
    this.seqs[count] = -1
    this.dones[count] = done
    this.count = count + 1
    this.size += size
  }

  /**
   * @param {number} index
   * @returns {Buffer[]}  of that append
   */
  recordsOf (index) {
    return this.records.slice(index === 0 ? 0 : this.ends[index - 1], this.ends[index])
  }

  /** Nobody waits for the append any more. @param {number} index */
  forget (index) {
    this.dones[index] = ignore
  }

  /** Makes it empty. All of its appends must be forgotten. */
  clear () {
    this.records.fill(NO_RECORD, 0, this.recordCount)
    this.recordCount = this.count = this.size = 0
  }
}

function ignore () {}

exports.AppendGroup = AppendGroup
