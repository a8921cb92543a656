'use strict'
// CRC-32 (IEEE 802.3), by the fastest means at hand for the size: a table for headers, for more @node-rs/crc32 where it
// is installed, else zlib. All give the same.

const zlib = require('node:zlib')

// Below it crossing into native code is all that takes time, 0.28 us, the same for both. At 512 bytes zlib takes
// 0.41 us and the other one 0.27, at 2 KiB 0.71 and 0.34.
const NATIVE_SIZE_MIN = 256
const POLYNOMIAL = 0xedb88320

/** @typedef {(bytes: Buffer, seed?: number) => number} Crc32 */

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? POLYNOMIAL ^ (byte >>> 1) : byte >>> 1
  return byte
})
// The same for a byte that one, two or three zeros follow: so four of them can be looked up at once.
const [table1, table2, table3] = [1, 2, 3].map((zeros) => table.map((crc) => {
  for (let left = zeros; left > 0; left--) crc = table[crc & 0xff] ^ (crc >>> 8)
  return crc
}))

/**
 * For a few dozen bytes.
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @param {number} seed  the checksum of what comes before, or what makes this one differ from others
 */
function crc32OfFew (bytes, start, end, seed) {
  let crc = ~seed
  let offset = start
  for (; offset + 4 <= end; offset += 4) {
    crc ^= bytes[offset] | bytes[offset + 1] << 8 | bytes[offset + 2] << 16 | bytes[offset + 3] << 24
    crc = table3[crc & 0xff] ^ table2[(crc >>> 8) & 0xff] ^ table1[(crc >>> 16) & 0xff] ^ table[crc >>> 24]
  }
  for (; offset < end; offset++) crc = table[(crc ^ bytes[offset]) & 0xff] ^ (crc >>> 8)
  return ~crc >>> 0
}

/** By the top byte of a table entry: its index. */
const indexByTop = new Uint8Array(256)
table.forEach((entry, index) => { indexByTop[entry >>> 24] = index })

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @param {number} crc  of these bytes
 * @returns {number}  what it was seeded with: a checksum can be worked backwards
 */
function findSeed (bytes, start, end, crc) {
  let state = ~crc
  for (let at = end - 1; at >= start; at--) {
    const index = indexByTop[state >>> 24]
    state = (state ^ table[index]) << 8 | ((index ^ bytes[at]) & 0xff)
  }
  return ~state >>> 0
}

/** @returns {Crc32} */
function chooseCrc32 () {
  // So that a benchmark can tell the two apart.
  if (process.env.MILLRACE_CRC32 === 'zlib') return zlib.crc32
  try {
    /** @type {{ crc32: Crc32 }} */
    const native = require('@node-rs/crc32')
    return (bytes, seed = 0) => bytes.length < NATIVE_SIZE_MIN ? zlib.crc32(bytes, seed) : native.crc32(bytes, seed)
  } catch {
    return zlib.crc32
  }
}

exports.crc32 = chooseCrc32()

// What becomes of a checksum when zeros follow. With it the sums of pieces make the sum of the whole: that of a piece
// and another is the first one, shifted by the second one's size, xor the second one. As crc32_combine of zlib has it.

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

exports.POLYNOMIAL = POLYNOMIAL
exports.crc32OfFew = crc32OfFew
exports.findSeed = findSeed
exports.createShiftTable = createShiftTable
exports.shift = shift
