'use strict'
// The keys of what was appended last, until a block takes them: so these records are not read again. Appends with a
// condition note keys anyway.
//
// There is an entry for each record, in the order of the appends, and its seq is told once it is written:
//
//     in the log:   all up to #before │ entry 0 │ entry 1 │ …   with no record between them
//
// An entry whose seq is not told waits, or has failed. A block takes what is before it; the log is read after it.

const { Block } = require('./block')

/**
 * @typedef {import('./block').KeySink} KeySink
 * @typedef {import('./hash').Hasher} Hasher  named in the types of KeySink
 */

/** @implements {KeySink} */
class NotedKeys {
  #paths
  #entriesMax
  /** The entries. Of one whose seq is not told, it is NaN. */
  #entries
  /** The position of the first entry. */
  #first = 0
  /** The highest seq before the first entry; Infinity if it is unknown. */
  #before = Infinity
  /** What was told last. */
  #told = { position: -1, seq: Infinity }

  /** @param {readonly import('./paths').DeclaredPath[]} paths @param {number} entriesMax */
  constructor (paths, entriesMax) {
    this.#paths = paths
    this.#entriesMax = entriesMax
    this.#entries = new Block(paths, 0)
  }

  /**
   * Begins an entry: what is added then are its keys.
   * @param {number} position  of the append, of a single record. Positions count up, and each append has one
   */
  begin (position) {
    const { count } = this.#entries
    if (position !== this.#first + count || count === this.#entriesMax) {
      this.clear()
      this.#first = position
      this.#before = this.#told.position === position - 1 ? this.#told.seq : Infinity
    }
    this.#entries.begin(0)
    this.#entries.seqs[this.#entries.count - 1] = NaN
  }

  /** @type {KeySink['addKey']} */
  addKey (slots, hasher) {
    this.#entries.addKey(slots, hasher)
  }

  /** @type {KeySink['addNumber']} */
  addNumber (slots, value, hasher) {
    this.#entries.addNumber(slots, value, hasher)
  }

  /** @type {KeySink['addTime']} */
  addTime (slots, ms) {
    this.#entries.addTime(slots, ms)
  }

  addOdd () {
    this.#entries.addOdd()
  }

  /** An append was written. @type {(position: number, seq: number) => void} `seq`: of its last record */
  settle (position, seq) {
    const index = position - this.#first
    if (index >= 0 && index < this.#entries.count) this.#entries.seqs[index] = seq
    else if (index === -1) this.#before = seq
    this.#told.position = position
    this.#told.seq = seq
  }

  /** Forgets all entries: the log may not have these records any more. */
  clear () {
    this.#first = -1
    this.#before = Infinity
    if (this.#entries.count > 0) this.#entries = new Block(this.#paths, 0)
  }

  /**
   * Moves the entries of a range into a block that ends where the range begins.
   * @type {(block: Block, range: { from: number, to: number }, since: number) => number} `since`: the last readable
   *   record. Gives up to where the block has every record; `from` if nothing was taken
   */
  take (block, { from, to }, since) {
    this.#forgetBefore(from)
    const { count, seqs } = this.#entries
    if (count === 0 || this.#before >= from) return from
    const room = block.roomFrom(seqs[0])
    const end = countBelow(seqs, Math.min(count, room.records), Math.min(to, room.end))
    if (end === 0) return from
    const last = seqs[end - 1]
    const isSealed = end < count && seqs[end] < to
    const isWhole = last === since || (end < count && seqs[end] >= to)
    const reached = isWhole ? to : last + 1
    block.take({ ...this.#entries.cut(end, block.count), to: reached, isSealed })
    this.#first += end
    this.#before = last
    if (end === count) this.#entries = new Block(this.#paths, 0)
    return reached
  }

  /** Forgets what is before a seq, and what has failed before that. @param {number} seq */
  #forgetBefore (seq) {
    const { count, seqs } = this.#entries
    const last = lastBelow(seqs, count, seq)
    if (last < 0) return
    this.#before = seqs[last]
    this.#first += last + 1
    this.#entries.cut(last + 1, 0)
  }
}

// A large function with a loop takes long to compile.

/**
 * How many are below an end, until one is not, or is NaN.
 * @type {(seqs: Float64Array, count: number, end: number) => number}
 */
function countBelow (seqs, count, end) {
  let at = 0
  while (at < count && seqs[at] < end) at++
  return at
}

/**
 * The index of the last one below an end; some are NaN.
 * @type {(seqs: Float64Array, count: number, end: number) => number}
 */
function lastBelow (seqs, count, end) {
  let at = count - 1
  while (at >= 0 && !(seqs[at] < end)) at--
  return at
}

exports.NotedKeys = NotedKeys
