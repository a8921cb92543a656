'use strict'
// A full page of a sidecar: the checksums of 1,020 blocks of the log. Each page is there twice.

const { crc32 } = require('../framing/checked/crc32')
const { PAGE_HEADER_SIZE, PAGE_SIZE, SUMS_PER_PAGE } = require('./layout')

/**
 * @typedef {object} SumsPage
 * @property {number} index
 * @property {number} sequence  of the slot that was written after it: the higher one is the newer
 * @property {ArrayLike<number>} sums
 */

/**
 * @param {SumsPage} page
 * @param {number} salt  of the sidecar
 * @returns {Buffer}
 */
function encodePage ({ index, sequence, sums }, salt) {
  const bytes = Buffer.alloc(PAGE_SIZE)
  bytes.writeUInt32BE(index, 4)
  bytes.writeUIntBE(sequence, 8, 6)
  let offset = PAGE_HEADER_SIZE
  for (let number = 0; number < SUMS_PER_PAGE; number++) offset = bytes.writeUInt32BE(sums[number], offset)
  bytes.writeUInt32BE(crc32(bytes.subarray(4), salt), 0)
  return bytes
}

/**
 * @param {Buffer} bytes  of one page
 * @param {number} index  which one it should be
 * @param {number} salt
 * @returns {SumsPage | null}  null when it is not whole, or another one
 */
function decodePage (bytes, index, salt) {
  if (crc32(bytes.subarray(4), salt) !== bytes.readUInt32BE(0) || bytes.readUInt32BE(4) !== index) return null
  const sums = new Uint32Array(SUMS_PER_PAGE).map((_, number) => bytes.readUInt32BE(PAGE_HEADER_SIZE + 4 * number))
  return { index, sequence: bytes.readUIntBE(8, 6), sums }
}

exports.encodePage = encodePage
exports.decodePage = decodePage
