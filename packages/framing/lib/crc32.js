'use strict'
// Computes CRC-32 (IEEE 802.3). `crc32OfFew` uses a table and is for headers. `crc32` uses @node-rs/crc32 for larger
// pieces if it is installed, and zlib otherwise. The results are the same.

// Below this size nearly all the time goes into the call of native code, 0.28 us for both. At 512 bytes zlib takes 0.41
// us and @node-rs/crc32 0.27 us; at 2 KiB 0.71 us and 0.34 us.
const NATIVE_SIZE_MIN = 256
const POLYNOMIAL = 0xedb88320

/** @typedef {(bytes: Buffer, seed?: number) => number} Crc32 */

const table = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? POLYNOMIAL ^ (byte >>> 1) : byte >>> 1
  return byte
})
// The same for a byte with one, two or three zero bytes after it. With these tables four bytes are looked up at once.
const [table1, table2, table3] = [1, 2, 3].map((zeros) => table.map((crc) => {
  for (let left = zeros; left > 0; left--) crc = table[crc & 0xff] ^ (crc >>> 8)
  return crc
}))

/** For a few dozen bytes. @type {(bytes: Buffer, start: number, end: number, seed: number) => number} */
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

/** The index of the table entry with this top byte: no two entries have the same. */
const indexByTop = new Uint8Array(256)
table.forEach((entry, index) => { indexByTop[entry >>> 24] = index })

// Computes a checksum backwards: returns the seed with which these bytes have it.
/** @type {(bytes: Buffer, start: number, end: number, crc: number) => number} */
function findSeed (bytes, start, end, crc) {
  let state = ~crc
  for (let at = end - 1; at >= start; at--) {
    const index = indexByTop[state >>> 24]
    state = (state ^ table[index]) << 8 | ((index ^ bytes[at]) & 0xff)
  }
  return ~state >>> 0
}

/** Once they are chosen. @type {{ ofFew: Crc32, ofMany: Crc32 } | null} */
let native = null

/** The CRC-32 of bytes, after that of earlier bytes if `seed` is given. @type {Crc32} */
function crc32 (bytes, seed = 0) {
  // Late: to load zlib, and to look for the package, takes milliseconds.
  native ??= choose()
  return bytes.length < NATIVE_SIZE_MIN ? native.ofFew(bytes, seed) : native.ofMany(bytes, seed)
}

/** @returns {{ ofFew: Crc32, ofMany: Crc32 }} */
function choose () {
  const { crc32: ofFew } = require('node:zlib')
  try {
    // A benchmark sets this to compare the two. Deno throws if it may not read the environment.
    if (process.env.MILLRACE_CRC32 === 'zlib') return { ofFew, ofMany: ofFew }
    return { ofFew, ofMany: require('@node-rs/crc32').crc32 }
  } catch {
    return { ofFew, ofMany: ofFew }
  }
}

exports.crc32 = crc32

// Shifts a checksum: what does it become if zero bytes follow? The checksum of two pieces together is that of the
// first, shifted by the size of the second, xor that of the second. zlib's crc32_combine does the same.

const WORD_BITS = 32

/** A shift, given by what it makes of each of the 32 bits: it is linear. @typedef {Int32Array<ArrayBuffer>} BitMap */

const IDENTITY = Int32Array.from({ length: WORD_BITS }, (_, bit) => 1 << bit)

/** `powers[n]` shifts by 2^n zero bytes. Made when first needed. @type {BitMap[]} */
const powers = [IDENTITY.map((crc) => {
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? POLYNOMIAL ^ (crc >>> 1) : crc >>> 1
  return crc
})]

/** @param {number} index */
function powerOfTwo (index) {
  while (powers.length <= index) powers.push(compose(powers[powers.length - 1], powers[powers.length - 1]))
  return powers[index]
}

/** @type {(second: BitMap, first: BitMap) => BitMap} */
function compose (second, first) {
  const both = new Int32Array(WORD_BITS)
  for (let index = 0; index < WORD_BITS; index++) {
    for (let rest = first[index]; rest !== 0; rest &= rest - 1) both[index] ^= second[31 - Math.clz32(rest & -rest)]
  }
  return both
}

/**
 * Makes the table with which `shift` appends `size` zero bytes (less than 2^31). It has 256 entries for each of the
 * four bytes of a checksum. The shifted checksum is the xor of four entries.
 * @type {(size: number) => Int32Array}
 */
function createShiftTable (size) {
  let map = IDENTITY
  for (let index = 0; size >>> index > 0; index++) if (size >>> index & 1) map = compose(powerOfTwo(index), map)
  const table = new Int32Array(4 * 256)
  for (let bit = 0; bit < WORD_BITS; bit++) {
    // The entries for smaller values of this byte are there already.
    const byte = (bit >>> 3) * 256
    const value = 1 << (bit & 7)
    for (let lower = 0; lower < value; lower++) table[byte + value + lower] = table[byte + lower] ^ map[bit]
  }
  return table
}

/** Shifts a checksum with this table. The result is signed. @type {(table: Int32Array, crc: number) => number} */
function shift (table, crc) {
  const low = table[crc & 0xff] ^ table[0x100 | (crc >>> 8 & 0xff)]
  return low ^ table[0x200 | (crc >>> 16 & 0xff)] ^ table[0x300 | crc >>> 24]
}

exports.POLYNOMIAL = POLYNOMIAL
exports.crc32OfFew = crc32OfFew
exports.findSeed = findSeed
exports.createShiftTable = createShiftTable
exports.shift = shift
