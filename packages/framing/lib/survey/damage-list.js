'use strict'
// Lists the damage of a file, in order and in words for people. Adjoining ranges become one. All are counted, but only
// the first are listed.

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

/** @typedef {Omit<DamagedRange, 'offset' | 'size'> & { start: number, end: number }} Found */

/**
 * @typedef {object} DamagedRange
 * @property {string} what  What is wrong there, for people.
 * @property {number} offset  Where the range begins in the file.
 * @property {number} size  In bytes.
 * @property {true | null} isPromised  True if the range was once known to be on stable storage. Null if the file does
 *   not say: in the offset framings, and if both checkpoint slots are lost. What never was is a torn end, not damage.
 * @property {{ from: number, to: number } | null} seqs  The lost records have seqs of at least `from` and below `to`,
 *   also one that begins before the range and continues in it. Null if no record is lost.
 * @property {number | null} records  How many records are lost; null if that is unknown.
 */

class DamageList {
  #rangesMax
  #onRange
  /** The next range may adjoin this one. @type {Found | null} */
  #last = null

  /**
   * @param {object} [options]
   * @param {number} [options.rangesMax]  how many to list
   * @param {(range: DamagedRange) => void} [options.onRange]  gets each range, in order
   */
  constructor ({ rangesMax = Infinity, onRange = () => {} } = {}) {
    /** @type {DamagedRange[]} */
    this.ranges = []
    /** How many there are, listed or not. */
    this.count = 0
    /** The sum of their sizes. */
    this.size = 0
    /** Where the last one ends. */
    this.end = 0
    this.#rangesMax = rangesMax
    this.#onRange = onRange
  }

  /** It must begin at or after the start of the one before. @type {(found: Found) => void} */
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

  /** The last range lost the seqs below `to`. @type {(to: number) => void} */
  endSeqs (to) {
    if (this.#last?.seqs) this.#last.seqs.to = to
  }

  /** Nothing will adjoin the last range. */
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

/** @type {(a: Found['seqs'], b: Found['seqs']) => { from: number; to: number; } | null} */
function unite (a, b) {
  if (a === null || b === null) return a ?? b
  return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) }
}

exports.DamageList = DamageList
