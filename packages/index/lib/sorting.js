'use strict'
// Sorts by counting digits: in the time of a few passes, and so that equal ones keep their order. Each pass moves keys
// and their indexes together, so it reads from start to end, and can rest anywhere.

const DIGIT_BITS = 11
const DIGITS = 1 << DIGIT_BITS
const WORD_BITS = 32
const DIGIT_COUNT = Math.ceil(WORD_BITS / DIGIT_BITS)

/** Sorts one column after the other, in memory that it uses again. */
class Sorter {
  #pace
  #counts = new Uint32Array(DIGIT_COUNT * DIGITS)
  #nextKeys = new Uint32Array(0)
  #nextOrder = new Uint32Array(0)
  /** What was sorted last, ascending; there may be more after the count. */
  keys = new Uint32Array(0)
  /** Where each of them was. */
  order = new Uint32Array(0)

  /** @param {import('./pace').Pace} pace */
  constructor (pace) {
    this.#pace = pace
  }

  /** @param {Uint32Array} words @param {number} count  how many of them */
  async sort (words, count) {
    this.#makeRoom(count)
    await this.#sortBy(words, count, false)
  }

  /**
   * Afterwards the keys are no values.
   * @param {Float64Array} values  without NaN
   * @param {number} count
   */
  async sortNumbers (values, count) {
    this.#makeRoom(count)
    let isSorted = true
    await this.#pace.walk(count, 2, (from, to) => {
      for (let index = from; index < to; index++) {
        this.order[index] = index
        isSorted &&= index === 0 || values[index - 1] <= values[index]
      }
    })
    if (isSorted) return
    // As whole numbers, the bits of doubles have the order of the doubles, if those of negative ones are turned around.
    const words = new Uint32Array(values.buffer, values.byteOffset, 2 * count)
    const [low, high] = [new Uint32Array(count), new Uint32Array(count)]
    await this.#pace.walk(count, 4, (from, to) => {
      for (let index = from; index < to; index++) {
        const isNegative = words[2 * index + 1] >>> 31 === 1
        // 0 and -0 are one value.
        const isZero = values[index] === 0
        low[index] = isZero ? 0 : isNegative ? ~words[2 * index] : words[2 * index]
        high[index] = isZero ? 0x80000000 : isNegative ? ~words[2 * index + 1] : words[2 * index + 1] | 0x80000000
      }
    })
    await this.#sortBy(low, count, false)
    await this.#sortBy(high, count, true)
  }

  /** @param {number} count */
  #makeRoom (count) {
    if (count <= this.keys.length) return
    this.keys = new Uint32Array(count)
    this.order = new Uint32Array(count)
    this.#nextKeys = new Uint32Array(count)
    this.#nextOrder = new Uint32Array(count)
  }

  /**
   * @param {Uint32Array} words
   * @param {number} count
   * @param {boolean} hasOrder  whether those that are equal keep the order that they have; or that of the words
   */
  async #sortBy (words, count, hasOrder) {
    const counts = this.#counts.fill(0)
    await this.#pace.walk(count, 2, (from, to) => {
      if (!hasOrder) countUp(this.order, from, to)
      takeWords(words, this.order, this.keys, counts, from, to)
    })
    for (let digit = 0; digit < DIGIT_COUNT; digit++) {
      const shift = digit * DIGIT_BITS
      const starts = counts.subarray(digit * DIGITS, (digit + 1) * DIGITS)
      // All have the same one, as of a path with one value.
      if (count === 0 || starts[this.keys[0] >>> shift & DIGITS - 1] === count) continue
      sumUp(starts)
      const { keys, order } = this
      const nextKeys = this.#nextKeys
      const nextOrder = this.#nextOrder
      await this.#pace.walk(count, 2, (from, to) => {
        move({ keys, order, nextKeys, nextOrder }, starts, shift, from, to)
      })
      this.keys = nextKeys
      this.order = nextOrder
      this.#nextKeys = keys
      this.#nextOrder = order
    }
  }
}

/** @type {(order: Uint32Array, from: number, to: number) => void} */
function countUp (order, from, to) {
  for (let index = from; index < to; index++) order[index] = index
}

/** Of each digit, where the first one goes. @param {Uint32Array} counts  replaced */
function sumUp (counts) {
  let sum = 0
  for (let value = 0; value < DIGITS; value++) {
    const size = counts[value]
    counts[value] = sum
    sum += size
  }
}

/**
 * @type {(words: Uint32Array, order: Uint32Array, keys: Uint32Array, counts: Uint32Array, from: number, to: number) =>
 *   void}
 */
function takeWords (words, order, keys, counts, from, to) {
  for (let at = from; at < to; at++) {
    const word = words[order[at]] | 0
    keys[at] = word
    counts[word & DIGITS - 1]++
    counts[DIGITS + (word >>> DIGIT_BITS & DIGITS - 1)]++
    counts[2 * DIGITS + (word >>> 2 * DIGIT_BITS)]++
  }
}

/**
 * @param {{ keys: Uint32Array, order: Uint32Array, nextKeys: Uint32Array, nextOrder: Uint32Array }} arrays
 * @param {Uint32Array} starts  where the next one of each digit goes
 * @param {number} shift
 * @param {number} from
 * @param {number} to
 */
function move ({ keys, order, nextKeys, nextOrder }, starts, shift, from, to) {
  for (let at = from; at < to; at++) {
    const key = keys[at] | 0
    const next = starts[key >>> shift & DIGITS - 1]++
    nextKeys[next] = key
    nextOrder[next] = order[at]
  }
}

/**
 * @param {number[]} ordinals
 * @returns {number[]}  the same list, ascending, each once
 */
function ordered (ordinals) {
  let isAscending = true
  for (let at = 1; at < ordinals.length && isAscending; at++) isAscending = ordinals[at - 1] < ordinals[at]
  if (isAscending) return ordinals
  const sorted = Uint32Array.from(ordinals).sort()
  let count = 0
  for (let index = 0; index < sorted.length; index++) {
    if (index === 0 || sorted[index] !== sorted[index - 1]) ordinals[count++] = sorted[index]
  }
  ordinals.length = count
  return ordinals
}

/** @type {(count: number, isAfter: (index: number) => boolean) => number} count if there is none */
function firstIndex (count, isAfter) {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = low + high >>> 1
    if (isAfter(middle)) high = middle
    else low = middle + 1
  }
  return low
}

exports.Sorter = Sorter
exports.firstIndex = firstIndex
exports.ordered = ordered
