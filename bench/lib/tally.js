'use strict'
// What a layer keeps of what it is shown: exact counts of everything, and a digest of a sample. Samples are copied and
// hashed after the clock has stopped, since hashing all of it would take longer than reading it.

const { createHash } = require('node:crypto')

/** @typedef {import('./shapes').TallyResult} TallyResult */

// Fields of a class rather than variables of a closure: V8 keeps a double in a field without allocating on each write.
class ByteTally {
  /** @param {{ every: number }} options  1 keeps all, 1000 every thousandth, from the first on */
  constructor ({ every }) {
    this.every = every
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
    /** @type {number[]} */
    this.seqs = []
    /** @type {Buffer[]} */
    this.samples = []
  }

  /**
   * @param {number} seq
   * @param {Uint8Array} buf  borrowed: a sample is copied
   * @param {number} start
   * @param {number} end
   */
  visit (seq, buf, start, end) {
    if (this.records % this.every === 0) {
      this.seqs.push(seq)
      this.samples.push(Buffer.from(buf.subarray(start, end)))
    }
    this.records++
    this.delivered += end - start
    this.seqSum += seq
  }

  /** @returns {TallyResult} */
  result () {
    return summarize(this, this.delivered, this.samples)
  }
}

class ValueTally {
  /** @param {{ every: number }} options */
  constructor ({ every }) {
    this.every = every
    this.records = 0
    this.seqSum = 0
    /** @type {number[]} */
    this.seqs = []
    /** @type {unknown[]} */
    this.samples = []
  }

  /**
   * @param {number} seq
   * @param {unknown} value
   */
  visit (seq, value) {
    if (this.records % this.every === 0) {
      this.seqs.push(seq)
      this.samples.push(value)
    }
    this.records++
    this.seqSum += seq
  }

  /** @returns {TallyResult} */
  result () {
    return summarize(this, 0, this.samples.map((value) => Buffer.from(JSON.stringify(value) ?? 'undefined')))
  }
}

class BoundaryTally {
  /** @param {{ every: number }} options */
  constructor ({ every }) {
    this.every = every
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
    /** @type {number[]} */
    this.seqs = []
    /** @type {number[]} */
    this.samples = []
  }

  /**
   * @param {number} seq
   * @param {number} length
   */
  visit (seq, length) {
    if (this.records % this.every === 0) {
      this.seqs.push(seq)
      this.samples.push(length)
    }
    this.records++
    this.delivered += length
    this.seqSum += seq
  }

  /** @returns {TallyResult} */
  result () {
    return summarize(this, this.delivered, this.samples.map((length) => Buffer.from(String(length))))
  }
}

/**
 * @param {{ records: number, seqSum: number, seqs: number[] }} tally
 * @param {number} delivered
 * @param {Buffer[]} samples
 * @returns {TallyResult}
 */
function summarize ({ records, seqSum, seqs }, delivered, samples) {
  // A sum past 2^53 would round, and two stacks that differ could then look alike. 2^53 is far off: 8e13 for 343 MB.
  if (!Number.isSafeInteger(seqSum)) throw new Error(`the sum of the seqs is not exact: ${seqSum}`)
  const seqDigest = hash(seqs.map((seq) => Buffer.from(String(seq))))
  return { records, delivered, seqSum, seqDigest, digest: hash(samples) }
}

/**
 * @param {Buffer[]} parts  each is preceded by its length, so that "ab" + "c" is not "a" + "bc"
 * @returns {string}  the first 64 bits of a SHA-256
 */
function hash (parts) {
  const sha = createHash('sha256')
  for (const part of parts) sha.update(`${part.length}:`).update(part)
  return sha.digest('hex').slice(0, 16)
}

exports.ByteTally = ByteTally
exports.ValueTally = ValueTally
exports.BoundaryTally = BoundaryTally
