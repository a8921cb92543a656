'use strict'
// Mends the header of a chunk whose payload is whole: by its checksum if one bit of it was flipped, else from what the
// neighbours say. Nothing is believed that no checksum proves. Bytes only, no I/O.

const { ChunkHeader, checkChunk, readChunkHeader, writeChunkHeader } = require('../chunk-header')
const { crc32, crc32OfFew } = require('../crc32')
const { FrameCount } = require('../frames')
const { CHUNK_FLAGS, CHUNK_HEADER_SIZE } = require('../layout')
const { UNKNOWN } = require('./chunk-state')

/** @typedef {import('../chunk-header').Rules} Rules */

/**
 * What the neighbours of a chunk say of it.
 * @typedef {object} Neighbours
 * @property {number} physical  where the chunk is
 * @property {number[]} positions  what its logical position may be
 * @property {boolean} isPositionSure  whether it is the first of these
 * @property {number} previous  chain crc of the chunk before, or UNKNOWN
 * @property {number} continued  how much of it belongs to a record begun before, or UNKNOWN
 * @property {number} rest  how much of that record is in this chunk and behind it
 * @property {boolean} isRestErased  whether that record is erased
 * @property {number[]} epochs  of those around it, that of the chunk before first
 * @property {number[]} durables  what it may say was durable, what the chunk before says first
 * @property {End[]} ends
 */

/**
 * Where a chunk may end.
 * @typedef {object} End
 * @property {number} size  of the chunk then, in bytes
 * @property {number} chainCrc  what the chunk behind it knows it by then, or UNKNOWN
 */

/**
 * @typedef {object} Mended
 * @property {Buffer} chunk  header and payload
 * @property {ChunkHeader} header
 * @property {boolean} isExact  whether the header is known to be what it was; else it is made up, though its position,
 *   its size and what it continues are right
 */

/**
 * @param {Buffer} bytes  from the chunk's start to the end of its page, or of the file
 * @param {Neighbours} neighbours
 * @param {Rules} rules
 * @returns {Mended | null}  null when the payload is not whole, or not known to be this chunk's
 */
function mendHeader (bytes, neighbours, rules) {
  const head = unflip(bytes.subarray(0, CHUNK_HEADER_SIZE), rules)
  return (head && accept(bytes, head, neighbours, rules)) ?? mendFields(bytes, neighbours, rules)
}

/**
 * @param {Buffer} bytes
 * @param {Neighbours} neighbours
 * @param {Rules} rules
 * @returns {Mended | null}
 */
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

/**
 * Where nothing at all is as it should be, nothing will be proven.
 * @param {Buffer} bytes
 * @param {End} end
 * @param {number} payloadCrc
 * @param {Neighbours} neighbours
 */
function isLikely (bytes, { chainCrc }, payloadCrc, { positions, previous }) {
  return chainCrc !== UNKNOWN || bytes.readUInt32BE(4) === payloadCrc || bytes.readUInt32BE(32) === previous ||
    positions.includes(bytes.readUIntBE(16, 6))
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @param {number} payloadCrc
 * @param {number} position
 * @param {Neighbours} neighbours
 * @returns {Buffer}  the header, with all that is known for certain if the chunk has that size and that position
 */
function fillKnown (bytes, size, payloadCrc, position, { previous, continued }) {
  const head = Buffer.from(bytes.subarray(0, CHUNK_HEADER_SIZE))
  head.writeUInt32BE(payloadCrc, 4)
  head.writeUInt16BE(size - CHUNK_HEADER_SIZE, 8)
  head.writeUIntBE(position, 16, 6)
  if (continued !== UNKNOWN) head.writeUInt16BE(continued, 28)
  if (previous !== UNKNOWN) head.writeUInt32BE(previous, 32)
  return head
}

/**
 * Tries what the other fields are likely to say, until the header's own checksum, or what the next chunk knows it by,
 * says that this is it.
 * @param {Buffer} bytes
 * @param {Buffer} head
 * @param {End} end
 * @param {Neighbours} neighbours
 * @param {Rules} rules
 * @returns {Mended | null}
 */
function guessRest (bytes, head, end, neighbours, rules) {
  const stored = new ChunkHeader()
  readChunkHeader(viewOf(bytes), 0, stored)
  const { crc: storedCrc, flags, epoch, durable } = stored
  const trial = Buffer.from(head)
  const isAhead = head.readUIntBE(16, 6) !== neighbours.positions[0]
  // In a compacted log a gap moves a chunk ahead, too.
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

/**
 * Once something of a chunk is erased, the next chunk knows it by its original crc: a checksum that equals that
 * one says nothing of this header, it may be the one from before the deletion.
 * @param {Buffer} head
 */
function isNamedByBirth (head) {
  return (head.readUInt16BE(10) & CHUNK_FLAGS.WAS_ERASED) !== 0
}

/**
 * @param {Buffer} bytes
 * @param {ChunkHeader} stored
 * @param {End} end
 * @param {Neighbours} neighbours
 * @returns {Array<{ flags: number, erasedCount: number, originalCrc: number }>}  what the header may say of that
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

/**
 * The payload has the checksum that the header says, and the header is surely that of a chunk at this place: it names
 * the one before, or is named by the one behind. What it says else is lost.
 * @param {Buffer} bytes
 * @param {End} end
 * @param {number} payloadCrc
 * @param {Neighbours} neighbours
 * @param {Rules} rules
 * @returns {Mended | null}
 */
function rebuild (bytes, { size, chainCrc }, payloadCrc, neighbours, rules) {
  const { positions, isPositionSure, previous, continued, isRestErased } = neighbours
  const isFollowed = chainCrc !== UNKNOWN && bytes.readUInt32BE(0) === chainCrc
  const isFollowing = previous !== UNKNOWN && bytes.readUInt32BE(32) === previous
  // The checksum of no bytes is zero, and proves nothing.
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
  // Its chain crc cannot be that of its checksum any more, so it counts as one of which something was erased.
  header.erasedCount = Math.max(1, erasedCount + Number(isRest))
  header.originalCrc = header.crc
  writeChunkHeader(header, chunk, 0, rules.salt)
  const isRight = checkChunk(chunk, viewOf(chunk), 0, neighbours.physical, chunk.length, rules, header) === null
  return isRight ? { chunk, header, isExact: false } : null
}

/**
 * @param {Buffer} bytes
 * @param {Buffer} head
 * @param {Neighbours} neighbours
 * @param {Rules} rules
 * @returns {Mended | null}  null unless the chunk is good with this header
 */
function accept (bytes, head, neighbours, rules) {
  const { physical, previous, epochs: [epoch] } = neighbours
  const chunk = Buffer.from(bytes)
  head.copy(chunk)
  const header = new ChunkHeader()
  if (checkChunk(chunk, viewOf(chunk), 0, physical, chunk.length, rules, header) !== null) return null
  if ((previous !== UNKNOWN && header.previous !== previous) || header.epoch < epoch) return null
  return { chunk: chunk.subarray(0, CHUNK_HEADER_SIZE + header.size), header, isExact: true }
}

/**
 * @param {Buffer} chunk
 * @param {number} continued
 */
function countFrames (chunk, continued) {
  const frames = new FrameCount()
  frames.count(viewOf(chunk), CHUNK_HEADER_SIZE + continued, chunk.length, 0)
  return frames
}

/**
 * @param {Buffer} head
 * @param {Rules} rules
 */
function headerCrc (head, { salt }) {
  return crc32OfFew(head, 4, CHUNK_HEADER_SIZE, salt)
}

/** @param {Buffer} bytes */
function viewOf (bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
}

/**
 * @param {Buffer} head  a chunk's header
 * @param {Rules} rules
 * @returns {Buffer | null}  a copy of it that has its own checksum; null if not one bit makes the difference
 */
function unflip (head, rules) {
  const copy = Buffer.from(head)
  // A flipped bit changes a checksum by the same difference whatever the other bits are, and each bit by another one.
  for (let bit = 0; bit < 8 * CHUNK_HEADER_SIZE; bit++) {
    copy[bit >>> 3] ^= 1 << (bit & 7)
    if (headerCrc(copy, rules) === copy.readUInt32BE(0)) return copy
    copy[bit >>> 3] ^= 1 << (bit & 7)
  }
  return null
}

exports.mendHeader = mendHeader
