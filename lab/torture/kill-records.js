'use strict'
// What the killed processes append: every commit follows from the seed and its number, so both sides know its bytes.

const { createRandom } = require('@millrace/testkit')

const POOL_SIZE = 1024 * 1024
const STAMP_SIZE = 8
// Neighbouring seeds give neighbouring first numbers.
const WARM_UP_COUNT = 12

/**
 * @typedef {object} Commit
 * @property {Buffer[]} records
 * @property {boolean} isBatch  appended as an array
 */

/**
 * @param {number} seed
 * @returns {(limit: number) => number}  independent of those of the seeds around it
 */
function randomFrom (seed) {
  const random = createRandom(seed | 0)
  for (let i = 0; i < WARM_UP_COUNT; i++) random(2)
  return random
}

/**
 * @param {number} seed
 * @param {import('./framings').FramingName} [framing]
 * @returns {(number: number) => Commit}  the commit of that number, the same every time
 */
function createCommits (seed, framing = 'checked') {
  const pool = createPool(seed)
  const text = pool.toString('base64')
  const isLarge = seed % 2 === 1
  return (number) => {
    const random = randomFrom(Math.imul(seed, 0x9e3779b1) + number)
    const isBatch = random(4) === 0
    const count = isBatch ? 1 + random(random(8) === 0 ? 200 : 12) : 1
    const sizeLimit = pickSizeLimit(random, { isBatch, isLarge })
    const records = Array.from({ length: count }, (_, index) => {
      const size = random(sizeLimit)
      if (framing === 'lines') return createLine(text, { size, number, index, random })
      if (random(40) === 0) return Buffer.alloc(size)
      return createRecord(pool, { size, number, index, random })
    })
    return { records, isBatch }
  }
}

/**
 * @param {(limit: number) => number} random
 * @param {object} options
 * @param {boolean} options.isBatch
 * @param {boolean} options.isLarge  a log of large commits: a process is more often killed in the middle of one
 * @returns {number}  bytes: every record of the commit is below it
 */
function pickSizeLimit (random, { isBatch, isLarge }) {
  const kind = random(isLarge ? 64 : 256)
  if (kind === 0) return isBatch ? 200_000 : 4_000_000
  if (kind < 8) return isBatch ? 60_000 : 300_000
  if (kind < 48) return isBatch ? 20_000 : 60_000
  return kind < 128 ? 4000 : 800
}

/**
 * @param {number} seed
 * @returns {Buffer}  random bytes, none of them zero
 */
function createPool (seed) {
  const random = randomFrom(seed)
  const pool = Buffer.allocUnsafe(POOL_SIZE)
  for (let offset = 0; offset < POOL_SIZE; offset += 4) pool.writeUInt32LE((random(2 ** 32) | 0x01010101) >>> 0, offset)
  return pool
}

/**
 * @param {Buffer} pool
 * @param {{ size: number, number: number, index: number, random: (limit: number) => number }} shape
 * @returns {Buffer}  from anywhere in the pool on, around and around, with the commit's number and the index in front
 */
function createRecord (pool, { size, number, index, random }) {
  const record = Buffer.allocUnsafe(size)
  let from = random(POOL_SIZE)
  for (let filled = 0; filled < size; from = 0) filled += pool.copy(record, filled, from)
  if (size < STAMP_SIZE) return record
  record.writeUInt32BE(number, 0)
  record.writeUInt32BE(index, 4)
  return record
}

/**
 * @param {string} text
 * @param {{ size: number, number: number, index: number, random: (limit: number) => number }} shape
 * @returns {Buffer}  a JSON object with the commit's number, the index, and a part of the text
 */
function createLine (text, { size, number, index, random }) {
  const from = random(text.length)
  return Buffer.from(JSON.stringify({ number, index, text: text.slice(from, from + size) }))
}

exports.randomFrom = randomFrom
exports.createCommits = createCommits
