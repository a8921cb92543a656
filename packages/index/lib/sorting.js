'use strict'
// Sorts by counting digits: in the time of a few passes, and so that equal ones keep their order.

const DIGIT_BITS = 11
const DIGITS = 1 << DIGIT_BITS
const WORD_BITS = 32

/**
 * @param {Uint32Array} keys
 * @param {number} count  how many of them
 * @returns {Uint32Array}  their indexes, in the order of the keys
 */
function radixSort (keys, count) {
  let order = indexesOf(count)
  let next = new Uint32Array(count)
  for (let shift = 0; shift < WORD_BITS; shift += DIGIT_BITS) {
    sortByDigit(keys, shift, order, next)
    ;[order, next] = [next, order]
  }
  return order
}

/**
 * @param {Float64Array} values  without NaN
 * @param {number} count
 * @returns {Uint32Array}  their indexes, in the order of the values
 */
function sortNumbers (values, count) {
  let isSorted = true
  for (let index = 1; index < count && isSorted; index++) isSorted = values[index - 1] <= values[index]
  let order = indexesOf(count)
  if (isSorted) return order
  // As whole numbers, the bits of doubles have the order of the doubles, once those of negative ones are turned around.
  const words = new Uint32Array(2 * count)
  new Float64Array(words.buffer).set(values.subarray(0, count))
  const [low, high] = [new Uint32Array(count), new Uint32Array(count)]
  for (let index = 0; index < count; index++) {
    const isNegative = words[2 * index + 1] >>> 31 === 1
    // 0 and -0 are one value.
    const isZero = values[index] === 0
    low[index] = isZero ? 0 : isNegative ? ~words[2 * index] : words[2 * index]
    high[index] = isZero ? 0x80000000 : isNegative ? ~words[2 * index + 1] : words[2 * index + 1] | 0x80000000
  }
  let next = new Uint32Array(count)
  for (const half of [low, high]) {
    for (let shift = 0; shift < WORD_BITS; shift += DIGIT_BITS) {
      sortByDigit(half, shift, order, next)
      ;[order, next] = [next, order]
    }
  }
  return order
}

/** @param {number} count */
function indexesOf (count) {
  const indexes = new Uint32Array(count)
  for (let index = 0; index < count; index++) indexes[index] = index
  return indexes
}

/** @type {(keys: Uint32Array, shift: number, order: Uint32Array, next: Uint32Array) => void} */
function sortByDigit (keys, shift, order, next) {
  const starts = new Uint32Array(DIGITS + 1)
  for (let at = 0; at < order.length; at++) starts[(keys[order[at]] >>> shift & DIGITS - 1) + 1]++
  for (let digit = 1; digit <= DIGITS; digit++) starts[digit] += starts[digit - 1]
  for (let at = 0; at < order.length; at++) {
    const index = order[at]
    next[starts[keys[index] >>> shift & DIGITS - 1]++] = index
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

exports.ordered = ordered
exports.radixSort = radixSort
exports.sortNumbers = sortNumbers
