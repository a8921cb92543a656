'use strict'
// What is kept of the items that a measurement is shown: exact counts of all, and a digest of a sample. Samples are
// copied and hashed after the clock has stopped, since hashing all of it would take longer than reading it.

const { createHash } = require('node:crypto')

/**
 * @typedef {object} TallyResult
 * @property {number} records  how many items were delivered
 * @property {number} delivered  their bytes; 0 where values were delivered
 * @property {number} seqSum  the exact sum of their seqs or positions
 * @property {string} seqDigest  of the seqs of the sampled items
 * @property {string} digest  of the bytes or values of the sampled items
 */

/**
 * V8 keeps a double in the field of a class without allocating at each write; in a variable of a closure it does not.
 */
class Counts {
  constructor () {
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
  }

  /**
   * @param {number} seq
   * @param {any} item  borrowed bytes, with start and end, or a value
   * @param {number} [start]
   * @param {number} [end]
   */
  visit (seq, item, start, end) {
    this.records++
    this.seqSum += seq
    if (start !== undefined && end !== undefined) this.delivered += end - start
  }

  /** @param {Pick<Counts, 'records' | 'delivered' | 'seqSum'>} counts */
  add ({ records, delivered, seqSum }) {
    this.records += records
    this.delivered += delivered
    this.seqSum += seqSum
  }

  /** @param {import('@millrace/offset-log').RecordRun} chunk  no call for a record */
  addRecords ({ count, seqs, starts, ends }) {
    let [delivered, seqSum] = [0, 0]
    for (let index = 0; index < count; index++) {
      delivered += ends[index] - starts[index]
      seqSum += seqs[index]
    }
    this.add({ records: count, delivered, seqSum })
  }
}

/** Counts all that it visits, and keeps a sample. */
class Tally extends Counts {
  /** @param {{ every: number }} options  1 keeps all, 1000 every thousandth, from the first on */
  constructor ({ every }) {
    super()
    this.every = every
    /** @type {number[]} */
    this.seqs = []
    /** @type {any[]} */
    this.samples = []
  }

  /**
   * @param {number} seq
   * @param {any} item  borrowed bytes, with start and end: a sample is copied; or a value
   * @param {number} [start]
   * @param {number} [end]
   */
  visit (seq, item, start, end) {
    if (this.records % this.every === 0) {
      this.seqs.push(seq)
      this.samples.push(start === undefined ? item : Buffer.from(item.subarray(start, end)))
    }
    super.visit(seq, item, start, end)
  }

  /** @returns {TallyResult} */
  result () {
    const { records, delivered, seqSum } = this
    // A sum past 2^53 would round, and two stacks that differ could then look alike. 2^53 is far off: 8e13 for 343 MB.
    if (!Number.isSafeInteger(seqSum)) throw new Error(`the sum of the seqs is not exact: ${seqSum}`)
    return { records, delivered, seqSum, seqDigest: hash(this.seqs), digest: hash(this.samples) }
  }
}

/**
 * Each part is preceded by its length, so that "ab" + "c" is not "a" + "bc".
 * @param {any[]} parts  bytes, or values
 * @returns {string}  the first 64 bits of a SHA-256
 */
function hash (parts) {
  const sha = createHash('sha256')
  for (const part of parts) {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(JSON.stringify(part) ?? 'undefined')
    sha.update(`${bytes.length}:`).update(bytes)
  }
  return sha.digest('hex').slice(0, 16)
}

exports.Counts = Counts
exports.Tally = Tally
