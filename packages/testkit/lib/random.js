'use strict'
// A small random generator for tests, sfc32: the same numbers from the same seed, everywhere, and without a period.

/**
 * @param {number} seed
 * @returns {(limit: number) => number}  a whole number from 0 to below the limit
 */
function createRandom (seed) {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, seed]
  return (limit) => {
    const t = (a + b + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + t | 0
    return (t >>> 0) % limit
  }
}

exports.createRandom = createRandom
