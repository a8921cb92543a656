'use strict'
// What becomes of a checksum when zeros follow. With it the sums of pieces make the sum of the whole: that of a piece
// and another is the first one, shifted by the second one's size, xor the second one. As crc32_combine of zlib has it.

const { POLYNOMIAL } = require('./crc32')

const WORD_BITS = 32

/**
 * The shift is linear: it is known by what it makes of each of the 32 bits.
 * @typedef {Int32Array<ArrayBuffer>} BitMap
 */

const IDENTITY = Int32Array.from({ length: WORD_BITS }, (_, bit) => 1 << bit)

/** For one zero byte, for two, four and so on, as far as they were needed. @type {BitMap[]} */
const powers = [IDENTITY.map((crc) => {
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? POLYNOMIAL ^ (crc >>> 1) : crc >>> 1
  return crc
})]

/** @param {number} index */
function powerOfTwo (index) {
  while (powers.length <= index) powers.push(compose(powers[powers.length - 1], powers[powers.length - 1]))
  return powers[index]
}

/**
 * @param {BitMap} second
 * @param {BitMap} first
 * @returns {BitMap}
 */
function compose (second, first) {
  const both = new Int32Array(WORD_BITS)
  for (let index = 0; index < WORD_BITS; index++) {
    for (let rest = first[index]; rest !== 0; rest &= rest - 1) both[index] ^= second[31 - Math.clz32(rest & -rest)]
  }
  return both
}

/**
 * @param {number} size  how many zeros, in bytes; less than 2^31
 * @returns {Int32Array}  what that makes of each value of the lowest byte; then of the next one, and so on: the four
 *   that a checksum's bytes find, xor each other, are the result
 */
function createShiftTable (size) {
  let map = IDENTITY
  for (let index = 0; size >>> index > 0; index++) if (size >>> index & 1) map = compose(powerOfTwo(index), map)
  const table = new Int32Array(4 * 256)
  for (let bit = 0; bit < WORD_BITS; bit++) {
    // The values of this byte that have no bit above it are there already.
    const byte = (bit >>> 3) * 256
    const value = 1 << (bit & 7)
    for (let lower = 0; lower < value; lower++) table[byte + value + lower] = table[byte + lower] ^ map[bit]
  }
  return table
}

/**
 * @param {Int32Array} table
 * @param {number} crc
 * @returns {number}  signed
 */
function shift (table, crc) {
  const low = table[crc & 0xff] ^ table[0x100 | (crc >>> 8 & 0xff)]
  return low ^ table[0x200 | (crc >>> 16 & 0xff)] ^ table[0x300 | crc >>> 24]
}

exports.createShiftTable = createShiftTable
exports.shift = shift
