'use strict'
// The words for what may be wrong with a range of a file.

exports.WHAT = Object.freeze({
  FILLER: 'the zeros at a page\'s end',
  ZEROS: 'zeros where there were chunks',
  HEADER: 'the header of a chunk, whose records are whole',
  DATA: 'the records of a chunk',
  CHUNKS: 'chunks',
  LINK: 'chunks of a write that was taken back',
  SLOT: 'chunks that the last checkpoint does not know',
  PLACE: 'a chunk that belongs elsewhere',
  REST: 'a record whose rest is not there',
  BATCH: 'a batch whose end is not there',
  MISSING: 'the file ends before it'
})

// The damage that was found, from the start of a file to its end: ranges that adjoin become one, and only so many are
// kept, though all are counted.

/**
 * @typedef {object} Found  what somebody found
 * @property {string} what  is wrong there
 * @property {number} start
 * @property {number} end
 * @property {boolean | null} isPromised
 * @property {{ from: number, to: number } | null} seqs
 * @property {number | null} records
 */

/**
 * @typedef {object} DamagedRange
 * @property {string} what  is wrong there
 * @property {number} offset  in the file
 * @property {number} size  in bytes
 * @property {boolean | null} isPromised  whether it was ever known to be on stable storage; null when that is not known
 * @property {{ from: number, to: number } | null} seqs  of the records that are lost: `from` and up, below `to`; null
 *   when none is
 * @property {number | null} records  how many are lost; null when that is not known
 */

class DamageList {
  #rangesMax
  #onRange
  /** What the next one may adjoin. @type {Found | null} */
  #last = null

  /**
   * @param {object} [options]
   * @param {number} [options.rangesMax]  how many to keep
   * @param {(range: DamagedRange) => void} [options.onRange]  is told of each, in order
   */
  constructor ({ rangesMax = Infinity, onRange = () => {} } = {}) {
    /** @type {DamagedRange[]} */
    this.ranges = []
    /** How many there are, kept or not. */
    this.count = 0
    /** Their bytes. */
    this.size = 0
    /** Where the last of them ends. */
    this.end = 0
    this.#rangesMax = rangesMax
    this.#onRange = onRange
  }

  /** @param {Found} found  begins at or after the one before */
  add (found) {
    const last = this.#last
    this.end = Math.max(this.end, found.end)
    if (last === null || found.start > last.end || found.isPromised !== last.isPromised) {
      this.close()
      this.#last = { ...found }
      return
    }
    const overlaps = found.start < last.end
    last.start = Math.min(last.start, found.start)
    last.end = Math.max(last.end, found.end)
    last.seqs = unite(last.seqs, found.seqs)
    last.records = overlaps || last.records === null || found.records === null ? null : last.records + found.records
  }

  /**
   * What was found last reaches up to this seq.
   * @param {number} to
   */
  endSeqs (to) {
    if (this.#last?.seqs) this.#last.seqs.to = to
  }

  /** Nothing will adjoin what was found last. */
  close () {
    if (this.#last === null) return
    const { what, start, end, isPromised, seqs, records } = this.#last
    this.#last = null
    this.count++
    this.size += end - start
    const range = { what, offset: start, size: end - start, isPromised, seqs, records }
    if (this.ranges.length < this.#rangesMax) this.ranges.push(range)
    this.#onRange(range)
  }
}

/**
 * @param {Found['seqs']} a
 * @param {Found['seqs']} b
 */
function unite (a, b) {
  if (a === null || b === null) return a ?? b
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) }
}

exports.DamageList = DamageList
