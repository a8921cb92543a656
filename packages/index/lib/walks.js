'use strict'
// Walks over the ordinals that a search has found, in the order of a read. Each gives them one by one: a read may need
// few of them. Generators would make an object for each ordinal, and take longer than all else.

const { firstIndex } = require('./sorting')

/** What `next` gives at the end. */
const END = -1

/**
 * @typedef {import('./posting-list').PostingList} PostingList
 * @typedef {{ next: () => number }} Walk  `next`: an ordinal or a seq; END if there is no more
 */

/** Over a list that is there. @implements {Walk} */
class ArrayWalk {
  #values
  #at = 0

  /** @param {readonly number[]} values */
  constructor (values) {
    this.#values = values
  }

  next () {
    return this.#at < this.#values.length ? this.#values[this.#at++] : END
  }
}

/** Over those of a posting list that are in a range. @implements {Walk} */
class ListWalk {
  #list
  #low
  #high
  #reverse
  /** The blocks that are left, from one up to another. Unknown until the first call. */
  #first = -1
  #end = 0
  /** The block that is read now, the newest first. */
  #ordinals
  #count = 0
  #at = 0

  /**
   * @param {PostingList} list
   * @param {{ low: number, high: number, reverse: boolean }} wanted  from `low` on and below `high`
   */
  constructor (list, { low, high, reverse }) {
    this.#list = list
    this.#low = low
    this.#high = high
    this.#reverse = reverse
    this.#ordinals = /** @type {any} */ (list.hasBits ? new Uint32Array(list.blockSize) : new Array(list.blockSize))
  }

  next () {
    do {
      while (this.#at < this.#count) {
        const at = this.#at++
        const ordinal = this.#ordinals[this.#reverse ? at : this.#count - 1 - at]
        if (ordinal >= this.#low && ordinal < this.#high) return ordinal
      }
    } while (this.#readNext())
    return END
  }

  /** Whether there was another block. */
  #readNext () {
    const list = this.#list
    if (this.#first === -1) {
      // A block has none above its newest, and only those above the newest of the next one.
      this.#first = firstIndex(list.blockCount - 1, (index) => list.newestOf(index + 1) < this.#high)
      this.#end = firstIndex(list.blockCount, (index) => list.newestOf(index) < this.#low)
    }
    if (this.#first >= this.#end) return false
    this.#count = list.readBlock(this.#reverse ? this.#first++ : --this.#end, this.#ordinals)
    this.#at = 0
    return true
  }
}

/** Over those of a walk that are in a list, too. @implements {Walk} */
class CommonWalk {
  #walk
  #list
  #block
  #index = -1
  #count = 0

  /** @param {Walk} walk  in order: nearly always the block is that of the ordinal before @param {PostingList} list */
  constructor (walk, list) {
    this.#walk = walk
    this.#list = list
    this.#block = /** @type {any} */ (new Array(list.hasBits ? 0 : list.blockSize))
  }

  next () {
    let ordinal
    do ordinal = this.#walk.next()
    while (ordinal !== END && !this.#has(ordinal))
    return ordinal
  }

  /** @param {number} ordinal */
  #has (ordinal) {
    const list = this.#list
    if (list.hasBits) return list.hasBit(ordinal)
    const index = firstIndex(list.blockCount - 1, (index) => list.newestOf(index + 1) < ordinal)
    if (index !== this.#index) {
      this.#count = list.readBlock(index, this.#block)
      this.#index = index
    }
    const at = firstIndex(this.#count, (at) => this.#block[at] <= ordinal)
    return at < this.#count && this.#block[at] === ordinal
  }
}

/** Puts all that is left at the end of a list. @type {(walk: Walk, target: number[]) => number[]} */
function drain (walk, target) {
  for (let value = walk.next(); value !== END; value = walk.next()) target.push(value)
  return target
}

exports.END = END
exports.ArrayWalk = ArrayWalk
exports.CommonWalk = CommonWalk
exports.ListWalk = ListWalk
exports.drain = drain
