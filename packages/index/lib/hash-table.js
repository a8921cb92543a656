'use strict'
// The newest number of each long hash, in one typed array. Short ones would not do: among a hundred thousand, each new
// one would be that of another value once in forty thousand times, and then the log is read.

/** The least size of a table, as a power of two. */
const TABLE_BITS = 8
const HASH_BITS = 32
/** What a table has room for. */
const NUMBER_MAX = 2 ** 32 - 1

/** A search looks at few, and the table stays small: what it looks at is seldom in the processor's cache. */
const FULL = 5 / 8
/** Of an entry: both halves of a long hash, and its number. */
const WIDTH = 3

/** @typedef {{ low: number, high: number }} LongHash */

class HashTable {
  /** A number of 0 is a free place. */
  #entries = new Uint32Array(WIDTH * 2 ** TABLE_BITS)
  #bits = TABLE_BITS
  count = 0

  /** @type {(hash: LongHash, number: number) => boolean} whether it was not there */
  set ({ low, high }, number) {
    return this.#set(low, high, number)
  }

  /** @type {(low: number, high: number, number: number) => boolean} */
  #set (low, high, number) {
    const at = this.#find(low, high)
    const entries = this.#entries
    const isNew = entries[at + 2] === 0
    entries[at] = low
    entries[at + 1] = high
    entries[at + 2] = number
    if (isNew) this.count++
    return isNew
  }

  get isFull () {
    return this.count > FULL * this.#entries.length / WIDTH
  }

  /** @param {LongHash} hash @returns {number}  0 if it is not there */
  get ({ low, high }) {
    return this.#entries[this.#find(low, high) + 2]
  }

  /** Where the hash is, or would be. @type {(low: number, high: number) => number} */
  #find (low, high) {
    const entries = this.#entries
    let at = WIDTH * (low >>> HASH_BITS - this.#bits)
    while (entries[at + 2] !== 0 && (entries[at] !== low || entries[at + 1] !== high)) {
      at += WIDTH
      if (at === entries.length) at = 0
    }
    return at
  }

  /** Forgets lower numbers. Afterwards it is not full. @param {number} least */
  prune (least) {
    const before = this.#entries
    let count = 0
    for (let at = 2; at < before.length; at += WIDTH) if (before[at] >= least) count++
    this.#bits = Math.max(TABLE_BITS, Math.ceil(Math.log2(2 * count + 1)))
    this.#entries = new Uint32Array(WIDTH * 2 ** this.#bits)
    this.count = 0
    for (let at = 0; at < before.length; at += WIDTH) {
      // Those that are equal to none go into the next free place.
      if (before[at + 2] >= least) this.#set(before[at], before[at + 1], before[at + 2])
    }
  }
}

exports.HashTable = HashTable
exports.NUMBER_MAX = NUMBER_MAX
