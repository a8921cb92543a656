'use strict'
// What a run file has of a long hash.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { Hasher, createKey } = require('../lib/hash')

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const [P1, P2, P3] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d]

/** The number that undoes a multiplication in 32 bits. */
function inverseOf (odd) {
  let inverse = odd
  for (let step = 0; step < 5; step++) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse))
  return inverse
}

/** Undoes `x ^ x >>> by`. */
function unshift (mixed, by) {
  let x = mixed
  for (let known = by; known < 32; known += by) x = mixed ^ x >>> by
  return x
}

/** The other half of a long hash. */
function highOf (short, low) {
  let mixed = Math.imul(unshift(short, 16), inverseOf(P1))
  mixed = unshift(mixed, 15) ^ Math.imul(low ^ low >>> 13, P3)
  return unshift(Math.imul(mixed, inverseOf(P2)), 16) >>> 0
}

tape(`hash: the short hash and the low half of the long one tell the high half (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  const hasher = new Hasher(createKey())
  let wrong = 0
  for (let round = 0; round < 100_000; round++) {
    const kind = random(10)
    if (kind === 0) hasher.hashValue([true, false, null][random(3)])
    else if (kind < 4) hasher.hashNumber(random(2) === 0 ? random(1000) : random(2 ** 32) * Math.PI)
    else hasher.hashText(`${random(2 ** 32)}`.repeat(1 + random(4)))
    if (highOf(hasher.short, hasher.low) !== hasher.high) wrong++
  }
  t.equal(wrong, 0, 'so 8 bytes are as exact as 12')
  t.end()
})
