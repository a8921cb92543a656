'use strict'
// A set of 53-bit hashes, small enough for millions of images.

const FIRST_CAPACITY = 2 ** 16
const EMPTY = -1

class SeenImages {
  constructor () {
    this.count = 0
    this._slots = new Float64Array(FIRST_CAPACITY).fill(EMPTY)
  }

  /**
   * @param {number} hash
   * @returns {boolean}  whether it is new
   */
  add (hash) {
    const slot = findSlot(this._slots, hash)
    if (this._slots[slot] === hash) return false
    this._slots[slot] = hash
    if (++this.count * 2 > this._slots.length) this._grow()
    return true
  }

  /** @returns {Float64Array}  all hashes */
  toArray () {
    return this._slots.filter((hash) => hash !== EMPTY)
  }

  _grow () {
    const larger = new Float64Array(this._slots.length * 2).fill(EMPTY)
    for (const hash of this._slots) if (hash !== EMPTY) larger[findSlot(larger, hash)] = hash
    this._slots = larger
  }
}

/**
 * @param {Float64Array} slots
 * @param {number} hash
 * @returns {number}  where it is, or where it can go
 */
function findSlot (slots, hash) {
  const mask = slots.length - 1
  let slot = hash % 0x7fffffff & mask
  while (slots[slot] !== EMPTY && slots[slot] !== hash) slot = slot + 1 & mask
  return slot
}

exports.SeenImages = SeenImages
