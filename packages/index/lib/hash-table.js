'use strict'
// The newest number of each hash, in one typed array.

/** The least size of a table, as a power of two. */
const TABLE_BITS = 8
const HASH_BITS = 32
/** What a table has room for. */
const NUMBER_MAX = 2 ** 32 - 1

/** At most half full, so that a search looks at few. */
class HashTable {
  /** A hash and its number, one after the other. A number of 0 is a free place. */
  #entries = new Uint32Array(2 * 2 ** TABLE_BITS)
  #bits = TABLE_BITS
  count = 0

  /** @type {(hash: number, number: number) => boolean} whether it was not there */
  set (hash, number) {
    const at = this.#find(hash)
    const entries = this.#entries
    const isNew = entries[at + 1] === 0
    entries[at] = hash
    entries[at + 1] = number
    if (isNew) this.count++
    return isNew
  }

  get isFull () {
    return this.count > this.#entries.length / 4
  }

  /** @param {number} hash @returns {number}  0 if it is not there */
  get (hash) {
    return this.#entries[this.#find(hash) + 1]
  }

  /** Where the hash is, or would be. @param {number} hash */
  #find (hash) {
    const entries = this.#entries
    let at = 2 * (hash >>> HASH_BITS - this.#bits)
    while (entries[at + 1] !== 0 && entries[at] !== hash) at = at + 2 === entries.length ? 0 : at + 2
    return at
  }

  /** Forgets lower numbers. Afterwards it is not full. @param {number} least */
  prune (least) {
    const before = this.#entries
    let count = 0
    for (let at = 1; at < before.length; at += 2) if (before[at] >= least) count++
    this.#bits = Math.max(TABLE_BITS, Math.ceil(Math.log2(3 * count + 1)))
    this.#entries = new Uint32Array(2 * 2 ** this.#bits)
    this.count = 0
    for (let at = 0; at < before.length; at += 2) {
      // Those that are equal to none go into the next free place.
      if (before[at + 1] >= least) this.set(before[at], before[at + 1])
    }
  }
}

exports.HashTable = HashTable
exports.NUMBER_MAX = NUMBER_MAX
