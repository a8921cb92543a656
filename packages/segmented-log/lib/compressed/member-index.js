'use strict'
// The index at the end of a compressed file: how large each member is, so that a reader finds the member of a position.
//
//   members with content | their sizes, 16,000 in each empty member | footer in an empty member
//
// The sizes are numbers of 4 bytes, little-endian. Each member inflates to `memberSize` bytes, the last to the rest.
// All of this may come from an attacker, so nothing is used before it was checked.

const { crc32 } = require('node:zlib')
const { LogError } = require('@millrace/errors')

const OR_FOREIGN = 'or another program compressed the file: then decompress it first'

/** A reader of one record inflates this much, in 0.1 ms. Larger members are smaller by less than a twentieth. */
const MEMBER_SIZE = 64 * 1024
const MEMBER_SIZE_MAX = 256 * 1024
const MEMBER_COUNT_MAX = 2 ** 24
const SIZE_BYTES = 4
const SIZES_PER_PART = 16_000

//   magic 8 | memberSize 4 | memberCount 4 | plainSize 6 | indexOffset 6 | crc of the sizes 4 | crc of all that 4
const MAGIC = Buffer.from('MRMEMBR1')
const FOOTER_SIZE = 36
const AT = Object.freeze({ memberSize: 8, memberCount: 12, plainSize: 16, indexOffset: 22, sizesCrc: 28, crc: 32 })

/** @typedef {import('./formats').Format} Format */

/**
 * @typedef {object} MemberIndex
 * @property {number} memberSize  of each member but the last when it is inflated, in bytes
 * @property {number} plainSize  of the whole file when it is inflated
 * @property {Float64Array} offsets  in the compressed file: where each member begins, and where the last one ends
 */

/** @type {(format: Format, sizes: number[], plainSize: number) => Buffer} what comes after the members */
function encodeIndex (format, sizes, plainSize) {
  const table = Buffer.alloc(sizes.length * SIZE_BYTES)
  sizes.forEach((size, index) => table.writeUInt32LE(size, index * SIZE_BYTES))
  const parts = []
  for (let start = 0; start < table.length; start += SIZES_PER_PART * SIZE_BYTES) {
    parts.push(format.wrap(table.subarray(start, start + SIZES_PER_PART * SIZE_BYTES)))
  }
  const footer = Buffer.alloc(FOOTER_SIZE)
  MAGIC.copy(footer)
  footer.writeUInt32LE(MEMBER_SIZE, AT.memberSize)
  footer.writeUInt32LE(sizes.length, AT.memberCount)
  footer.writeUIntLE(plainSize, AT.plainSize, 6)
  footer.writeUIntLE(sizes.reduce((sum, size) => sum + size, 0), AT.indexOffset, 6)
  footer.writeUInt32LE(crc32(table), AT.sizesCrc)
  footer.writeUInt32LE(crc32(footer.subarray(0, AT.crc)), AT.crc)
  return Buffer.concat([...parts, format.wrap(footer)])
}

/**
 * @param {Format} format
 * @param {number} fileSize
 * @param {(size: number, position: number) => Promise<Buffer>} read  of the compressed file
 * @param {string} path
 * @returns {Promise<MemberIndex>}
 * @throws ERR_LOG_CORRUPT
 */
async function readIndex (format, fileSize, read, path) {
  const corrupt = (/** @type {string} */ what, /** @type {number} */ offset) => {
    const command = format.name === 'gzip' ? 'gunzip' : 'zstd -d'
    return new LogError('ERR_LOG_CORRUPT', `${path}: ${what}. Keep a copy; ${command} gives the log up to the first ` +
      'damage, and repair makes a new log of its good records', { offset, path })
  }
  const wrappedSize = format.prefixSize + FOOTER_SIZE + format.restSize
  const footerOffset = fileSize - wrappedSize
  if (footerOffset < 0) throw corrupt(`it is shorter than the footer of a compressed segment, ${OR_FOREIGN}`, 0)
  const footer = (await read(wrappedSize, footerOffset)).subarray(format.prefixSize, format.prefixSize + FOOTER_SIZE)
  const isFooter = footer.subarray(0, MAGIC.length).equals(MAGIC)
  if (!isFooter || crc32(footer.subarray(0, AT.crc)) !== footer.readUInt32LE(AT.crc)) {
    throw corrupt(`the footer, at its end, is damaged or missing, ${OR_FOREIGN}`, footerOffset)
  }
  const memberSize = footer.readUInt32LE(AT.memberSize)
  const memberCount = footer.readUInt32LE(AT.memberCount)
  const plainSize = footer.readUIntLE(AT.plainSize, 6)
  const indexOffset = footer.readUIntLE(AT.indexOffset, 6)
  const isPossible = memberSize > 0 && memberSize <= MEMBER_SIZE_MAX && memberCount <= MEMBER_COUNT_MAX &&
    Math.ceil(plainSize / memberSize) === memberCount && indexOffset + indexSizeOf(format, memberCount) === footerOffset
  if (!isPossible) throw corrupt('its footer contradicts its size', footerOffset)
  const table = unwrapParts(format, await read(footerOffset - indexOffset, indexOffset), memberCount)
  const offsets = new Float64Array(memberCount + 1)
  let offset = 0
  let isSound = crc32(table) === footer.readUInt32LE(AT.sizesCrc)
  for (let index = 0; index < memberCount; index++) {
    const size = table.readUInt32LE(index * SIZE_BYTES)
    isSound &&= size > 0 && size <= compressedSizeMax(memberSize)
    offset += size
    offsets[index + 1] = offset
  }
  if (!isSound || offset !== indexOffset) throw corrupt('its index is damaged', indexOffset)
  return { memberSize, plainSize, offsets }
}

/** @type {(format: Format, memberCount: number) => number} */
function indexSizeOf ({ prefixSize, restSize }, memberCount) {
  return memberCount * SIZE_BYTES + Math.ceil(memberCount / SIZES_PER_PART) * (prefixSize + restSize)
}

/** @type {(format: Format, bytes: Buffer, memberCount: number) => Buffer} */
function unwrapParts ({ prefixSize, restSize }, bytes, memberCount) {
  const parts = []
  let position = 0
  for (let left = memberCount; left > 0; left -= SIZES_PER_PART) {
    const start = position + prefixSize
    const end = start + Math.min(left, SIZES_PER_PART) * SIZE_BYTES
    parts.push(bytes.subarray(start, end))
    position = end + restSize
  }
  return Buffer.concat(parts)
}

/** What does not compress becomes a little larger. @param {number} size */
function compressedSizeMax (size) {
  return size + (size >> 7) + 512
}

exports.MEMBER_SIZE = MEMBER_SIZE
exports.encodeIndex = encodeIndex
exports.readIndex = readIndex
