'use strict'
// Journals: of a deletion that was really about to happen, and of what no writer would do.

const { crc32 } = require('node:zlib')
const { hostileNumber, writeNumber } = require('../numbers')
const { CHUNK_FIELDS, JOURNAL_SIZE, readField, setField } = require('./checked-image')

const ENTRY_SIZE = 48
const PATCH_SIZE = 8

/** @typedef {(limit: number) => number} Random */

/**
 * @param {Random} random
 * @param {import('./checked-image').CheckedImage} image
 * @param {number} index  of its area
 * @param {number[]} near
 * @returns {Buffer}  without its checksum
 */
function makeJournal (random, image, index, near) {
  const bytes = Buffer.alloc(JOURNAL_SIZE)
  const isOdd = random(6) === 0 ? random(2) : index
  writeNumber(bytes, 4, 6, random(5) === 0 ? hostileNumber(random, near) : 2 * random(5) + isOdd)
  writeNumber(bytes, 10, 6, random(3) === 0 ? hostileNumber(random, near) : 1 + random(4))
  const { chunks } = image
  let at = 20
  let count = 0
  for (let left = random(4); left > 0 && chunks.length > 0 && at < JOURNAL_SIZE - 200; left--) {
    const size = writeEntry(random, bytes, at, chunks[random(chunks.length)], image.salt, near)
    at += size
    count++
  }
  writeNumber(bytes, 16, 2, random(4) === 0 ? hostileNumber(random, near) : count)
  if (random(4) === 0) writeNumber(bytes, 20 + random(120), 1 + random(6), hostileNumber(random, near))
  return bytes
}

/**
 * @param {Random} random
 * @param {Buffer} bytes
 * @param {number} at
 * @param {import('./checked-image').Chunk} chunk  that something is to be erased from
 * @param {number} salt
 * @param {number[]} near
 * @returns {number}  how many bytes it takes
 */
function writeEntry (random, bytes, at, { header, payload }, salt, near) {
  const place = readField(header, 0, CHUNK_FIELDS.position)
  writeNumber(bytes, at, 6, random(4) === 0 ? hostileNumber(random, near) : place)
  const patches = [makePatch(random, header, payload, near)]
  while (random(4) === 0 && patches.length < 10) patches.push(makePatch(random, header, payload, near))
  const erased = eraseFrom(header, payload, patches)
  if (random(4) === 0) setField(erased, 0, CHUNK_FIELDS.size, hostileNumber(random, near))
  if (random(6) === 0) setField(erased, 0, CHUNK_FIELDS.erased, hostileNumber(random, near))
  if (random(4) > 0) erased.writeUInt32BE(crc32(erased.subarray(4), salt), 0)
  erased.copy(bytes, at + 6)
  writeNumber(bytes, at + 46, 2, random(5) === 0 ? hostileNumber(random, near) : patches.length)
  patches.forEach(({ offset, size, mark }, index) => {
    const patchAt = at + ENTRY_SIZE + index * PATCH_SIZE
    writeNumber(bytes, patchAt, 2, offset)
    writeNumber(bytes, patchAt + 2, 2, size)
    writeNumber(bytes, patchAt + 4, 4, mark)
  })
  return ENTRY_SIZE + patches.length * PATCH_SIZE
}

/**
 * @param {Random} random
 * @param {Buffer} header
 * @param {Buffer} payload
 * @param {number[]} near
 */
function makePatch (random, header, payload, near) {
  const offset = readField(header, 0, CHUNK_FIELDS.continued)
  const size = payload.length >= offset + 4 ? payload.readUInt32BE(offset) & 0x3fffffff : 0
  const inChunk = Math.max(0, Math.min(size, payload.length - offset - 4))
  const patch = { offset, size: inChunk, mark: 2 ** 31 + size }
  if (random(4) === 0) patch.offset = hostileNumber(random, near) % 2 ** 16
  if (random(4) === 0) patch.size = hostileNumber(random, near) % 2 ** 16
  if (random(4) === 0) patch.mark = random(2) === 0 ? 0 : hostileNumber(random, near) % 2 ** 32
  return patch
}

/**
 * @param {Buffer} header
 * @param {Buffer} payload
 * @param {Array<{ offset: number, size: number, mark: number }>} patches
 * @returns {Buffer}  the header as it would be afterwards
 */
function eraseFrom (header, payload, patches) {
  const erased = Buffer.from(header)
  const after = Buffer.from(payload)
  for (const { offset, size, mark } of patches) {
    if (mark > 0) writeNumber(after, offset, 4, mark)
    const start = Math.min(after.length, mark > 0 ? offset + 4 : offset)
    after.fill(0, start, Math.min(after.length, start + size))
  }
  setField(erased, 0, CHUNK_FIELDS.originalCrc, readField(header, 0, CHUNK_FIELDS.crc))
  setField(erased, 0, CHUNK_FIELDS.flags, readField(header, 0, CHUNK_FIELDS.flags) | 2)
  setField(erased, 0, CHUNK_FIELDS.erased, readField(header, 0, CHUNK_FIELDS.erased) + patches.length)
  setField(erased, 0, CHUNK_FIELDS.payloadCrc, crc32(after))
  return erased
}

exports.makeJournal = makeJournal
