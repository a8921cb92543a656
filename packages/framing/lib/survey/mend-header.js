'use strict'
// Mends the header of a chunk whose payload is whole: by the header's checksum if one bit of it was flipped, otherwise
// from what the neighbours say. It accepts only what a checksum proves.

const { ChunkHeader, checkChunk, readChunkHeader, writeChunkHeader } = require('../chunk-header')
const { crc32, crc32OfFew } = require('../crc32')
const { FrameCount } = require('../frames')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

/** @typedef {import('../chunk-header').Rules} Rules */

/**
 * What the neighbours of a chunk say about it.
 * @typedef {object} Neighbours
 * @property {number} physical  position of the chunk
 * @property {number[]} positions  its possible logical positions
 * @property {boolean} isPositionSure  whether the first of these is right
 * @property {number} previous  chain crc of the chunk before, or UNKNOWN
 * @property {number} continued  how many of its bytes belong to a record that began before, or UNKNOWN
 * @property {number} rest  how many bytes of that record are in this chunk and behind it
 * @property {boolean} isRestErased  whether that record is erased
 * @property {number[]} epochs  of the chunks around it, first that of the chunk before
 * @property {number[]} durables  what it may say was durable, first what the chunk before says
 * @property {End[]} ends
 */

/** @typedef {{ size: number, chainCrc: number }} End  possible size; how the next chunk names it then, or UNKNOWN */

/**
 * @typedef {object} Mended
 * @property {Buffer} chunk  header and payload
 * @property {ChunkHeader} header
 * @property {boolean} isExact  whether it is the original header; otherwise only its position, size and `continued` are
 */

// Null if the payload is not whole, or not known to be this chunk's. `bytes` reach from the chunk's start to the end of
// its page or of the file.
/** @type {(bytes: Buffer, neighbours: Neighbours, rules: Rules) => Mended | null} */
function mendHeader (bytes, neighbours, rules) {
  const head = unflip(bytes.subarray(0, CHUNK_HEADER_SIZE), rules)
  return (head && accept(bytes, head, neighbours, rules)) ?? mendFields(bytes, neighbours, rules)
}

/** @type {(bytes: Buffer, neighbours: Neighbours, rules: Rules) => Mended | null} */
function mendFields (bytes, neighbours, rules) {
  const positions = new Set(neighbours.positions)
  if (rules.hasGaps) positions.add(bytes.readUIntBE(16, 6))
  for (const end of neighbours.ends) {
    const payload = bytes.subarray(CHUNK_HEADER_SIZE, end.size)
    const payloadCrc = crc32(payload)
    if (!isLikely(bytes, end, payloadCrc, neighbours)) continue
    for (const position of positions) {
      const head = fillKnown(bytes, end.size, payloadCrc, position, neighbours)
      const mended = guessRest(bytes, head, end, neighbours, rules)
      if (mended) return mended
    }
    const rebuilt = rebuild(bytes, end, payloadCrc, neighbours, rules)
    if (rebuilt) return rebuilt
  }
  return null
}

// If no field is as expected, nothing can be proven.
/** @type {(bytes: Buffer, end: End, payloadCrc: number, neighbours: Neighbours) => boolean} */
function isLikely (bytes, { chainCrc }, payloadCrc, { positions, previous }) {
  return chainCrc !== UNKNOWN || bytes.readUInt32BE(4) === payloadCrc || bytes.readUInt32BE(32) === previous ||
    positions.includes(bytes.readUIntBE(16, 6))
}

// The header, with all fields that are certain if the chunk has this size and position.
/** @type {(bytes: Buffer, size: number, payloadCrc: number, position: number, neighbours: Neighbours) => Buffer} */
function fillKnown (bytes, size, payloadCrc, position, { previous, continued }) {
  const head = Buffer.from(bytes.subarray(0, CHUNK_HEADER_SIZE))
  head.writeUInt32BE(payloadCrc, 4)
  head.writeUInt16BE(size - CHUNK_HEADER_SIZE, 8)
  head.writeUIntBE(position, 16, 6)
  if (continued !== UNKNOWN) head.writeUInt16BE(continued, 28)
  if (previous !== UNKNOWN) head.writeUInt32BE(previous, 32)
  return head
}

// Tries likely values of the other fields, until the header's own checksum, or the next chunk's name for it, proves
// them.
/** @type {(bytes: Buffer, head: Buffer, end: End, neighbours: Neighbours, rules: Rules) => Mended | null} */
function guessRest (bytes, head, end, neighbours, rules) {
  const stored = new ChunkHeader()
  readChunkHeader(viewOf(bytes), 0, stored)
  const { crc: storedCrc, flags, epoch, durable } = stored
  const trial = Buffer.from(head)
  const isAhead = head.readUIntBE(16, 6) !== neighbours.positions[0]
  // In a compacted log, a gap may move a chunk ahead too.
  const losses = isAhead ? [CHUNK_FLAGS.BEHIND_LOSS, ...(rules.hasGaps ? [0] : [])] : [0]
  for (const erasure of guessErasure(bytes, stored, end, neighbours)) {
    trial.writeUInt16BE(erasure.erasedCount, 30)
    trial.writeUInt32BE(erasure.originalCrc, 36)
    const ends = losses.map((loss) => erasure.flags | loss)
    for (const guess of new Set([flags, ...ends, ...ends.map((end) => end | CHUNK_FLAGS.COMMIT_CONTINUES)])) {
      trial.writeUInt16BE(guess, 10)
      for (const guess of new Set([epoch, ...neighbours.epochs])) {
        trial.writeUInt32BE(guess, 12)
        for (const guess of new Set([durable, ...neighbours.durables])) {
          trial.writeUIntBE(guess, 22, 6)
          const crc = headerCrc(trial, rules)
          if (crc !== storedCrc && (crc !== end.chainCrc || isNamedByBirth(trial))) continue
          trial.writeUInt32BE(crc, 0)
          const mended = accept(bytes, trial, neighbours, rules)
          if (mended) return mended
        }
      }
    }
  }
  return null
}

// Once part of a chunk is erased, the next chunk names it by its original crc. A checksum that equals that name proves
// nothing: it may belong to the header from before the deletion.
/** @type {(head: Buffer) => boolean} */
function isNamedByBirth (head) {
  return (head.readUInt16BE(10) & CHUNK_FLAGS.WAS_ERASED) !== 0
}

/**
 * @param {Buffer} bytes
 * @param {ChunkHeader} stored
 * @param {End} end
 * @param {Neighbours} neighbours
 * @returns {Array<{ flags: number, erasedCount: number, originalCrc: number }>}
 */
function guessErasure (bytes, { flags, erasedCount, originalCrc }, { size, chainCrc }, { continued, isRestErased }) {
  const guesses = [{ flags: 0, erasedCount: 0, originalCrc: 0 }, { flags, erasedCount, originalCrc }]
  const erased = countFrames(bytes.subarray(0, size), Math.max(0, continued)).erasedCount
  const isRest = isRestErased && continued > 0
  if (erased > 0 || isRest) {
    guesses.push({
      flags: CHUNK_FLAGS.WAS_ERASED | (isRest ? CHUNK_FLAGS.REST_ERASED : 0),
      erasedCount: erased + Number(isRest),
      originalCrc: chainCrc === UNKNOWN ? originalCrc : chainCrc
    })
  }
  return guesses
}

// Makes up a header for a payload that has the checksum in the damaged header, if that header surely is of this place:
// it names the chunk before, or the chunk behind names it. The other fields are lost.
/** @type {(bytes: Buffer, end: End, payloadCrc: number, neighbours: Neighbours, rules: Rules) => Mended | null} */
function rebuild (bytes, { size, chainCrc }, payloadCrc, neighbours, rules) {
  const { positions, isPositionSure, previous, continued, isRestErased } = neighbours
  const isFollowed = chainCrc !== UNKNOWN && bytes.readUInt32BE(0) === chainCrc
  const isFollowing = previous !== UNKNOWN && bytes.readUInt32BE(32) === previous
  // The checksum of no bytes is 0, and proves nothing.
  const isWhole = bytes.readUInt32BE(4) === payloadCrc && size > CHUNK_HEADER_SIZE
  if (!isWhole || !(isFollowed || isFollowing) || !isPositionSure || continued === UNKNOWN) return null
  const chunk = Buffer.from(bytes.subarray(0, size))
  const header = new ChunkHeader()
  readChunkHeader(viewOf(fillKnown(bytes, size, payloadCrc, positions[0], neighbours)), 0, header)
  const isRest = isRestErased && continued > 0
  const { erasedCount, openOffset } = countFrames(chunk, continued)
  header.flags = CHUNK_FLAGS.WAS_ERASED | (isRest ? CHUNK_FLAGS.REST_ERASED : 0)
  if (openOffset !== -1 || neighbours.rest > continued) header.flags |= CHUNK_FLAGS.COMMIT_CONTINUES
  header.epoch = neighbours.epochs[0]
  header.durable = neighbours.durables[0]
  // It counts as a header of erased records: only so can it keep the chain crc although its own checksum differs.
  header.erasedCount = Math.max(1, erasedCount + Number(isRest))
  header.originalCrc = header.crc
  writeChunkHeader(header, chunk, 0, rules.salt)
  const isRight = checkChunk(chunk, viewOf(chunk), 0, neighbours.physical, chunk.length, rules, header) === null
  return isRight ? { chunk, header, isExact: false } : null
}

// Null unless the chunk is good with this header.
/** @type {(bytes: Buffer, head: Buffer, neighbours: Neighbours, rules: Rules) => Mended | null} */
function accept (bytes, head, neighbours, rules) {
  const { physical, previous, epochs: [epoch] } = neighbours
  const chunk = Buffer.from(bytes)
  head.copy(chunk)
  const header = new ChunkHeader()
  if (checkChunk(chunk, viewOf(chunk), 0, physical, chunk.length, rules, header) !== null) return null
  if ((previous !== UNKNOWN && header.previous !== previous) || header.epoch < epoch) return null
  return { chunk: chunk.subarray(0, CHUNK_HEADER_SIZE + header.size), header, isExact: true }
}

/** @type {(chunk: Buffer, continued: number) => FrameCount} */
function countFrames (chunk, continued) {
  const frames = new FrameCount()
  frames.count(viewOf(chunk), CHUNK_HEADER_SIZE + continued, chunk.length, 0)
  return frames
}

/** @type {(head: Buffer, rules: Rules) => number} */
function headerCrc (head, { salt }) {
  return crc32OfFew(head, 4, CHUNK_HEADER_SIZE, salt)
}

/** @param {Buffer} bytes */
function viewOf (bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

// A copy of the header in which one bit is flipped so that its checksum matches; null if no bit does that.
/** @type {(head: Buffer, rules: Rules) => Buffer | null} */
function unflip (head, rules) {
  const copy = Buffer.from(head)
  // Each bit changes the checksum by a difference of its own, whatever the other bits are, so at most one can match.
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    copy[bit >>> 3] ^= 1 << (bit & 7)
    if (headerCrc(copy, rules) === copy.readUInt32BE(0)) return copy
    copy[bit >>> 3] ^= 1 << (bit & 7)
  }
  return null
}

exports.mendHeader = mendHeader
