'use strict'
// Random choices that depend on nothing but a few numbers.

const { createRandom } = require('@millrace/testkit')

// The generator's first numbers still show its seed.
const WARM_UP = 12

/**
 * @param {...number} parts  whole numbers
 * @returns {number}  from 0 to below 2^32
 */
function mixSeed (...parts) {
  let mixed = 0x243f6a88
  for (const part of parts) {
    for (const half of [part % 2 ** 32, Math.floor(part / 2 ** 32)]) {
      mixed = Math.imul(mixed ^ half, 0x85ebca6b)
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
      mixed ^= mixed >>> 16
    }
  }
  return mixed >>> 0
}

/**
 * @param {...number} parts
 * @returns {(limit: number) => number}  a whole number from 0 to below the limit
 */
function seededRandom (...parts) {
  const random = createRandom(mixSeed(...parts))
  for (let round = 0; round < WARM_UP; round++) random(2)
  return random
}

/**
 * @template T
 * @param {(limit: number) => number} random
 * @param {Array<[weight: number, value: T]>} choices
 * @returns {T}
 */
function pickWeighted (random, choices) {
  let left = random(choices.reduce((total, [weight]) => total + weight, 0))
  for (const [weight, value] of choices) {
    if (left < weight) return value
    left -= weight
  }
  throw new Error('no choice has a weight')
}

exports.mixSeed = mixSeed
exports.pickWeighted = pickWeighted
exports.seededRandom = seededRandom
