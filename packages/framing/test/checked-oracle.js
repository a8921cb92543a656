'use strict'
// A slow, obvious decoder of the checked framing, written from docs/internals/format.md alone: it shares no line with
// lib/.

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const PIECE_SIZE = PAGE_SIZE - 40
const MAGIC = '89464c470d0a1a0a'

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1
  return byte
})

/** Goes on from the checksum `seed`. @type {(bytes: Buffer, seed?: number) => number} */
function crc (bytes, seed = 0) {
  let state = ~seed
  for (let at = 0; at < bytes.length; at++) state = CRC_TABLE[(state ^ bytes[at]) & 255] ^ (state >>> 8)
  return ~state >>> 0
}

/** @type {(isTrue: boolean, message: string) => void} */
function check (isTrue, message) {
  if (!isTrue) throw new Error(`by docs/internals/format.md: ${message}`)
}

/** @param {Buffer} bytes */
function isZero (bytes) {
  return Buffer.alloc(bytes.length).equals(bytes)
}

/**
 * The whole of a log that was closed cleanly; throws at anything that is not as the page has it.
 * @param {Buffer} file
 */
function decodeLog (file) {
  const header = decodeHeader(file)
  const slots = [4096, 12288].map((position) => decodeSlot(file.subarray(position, position + 4096), header.salt))
  const slot = slots[0].sequence > slots[1].sequence ? slots[0] : slots[1]
  check(isZero(file.subarray(16384, HEAD_SIZE)), 'the journals are empty after a clean close')
  check(slot.end === file.length, `the newest slot ends at ${slot.end}, the file at ${file.length}`)
  const chunks = decodeChunks(file.subarray(HEAD_SIZE), { ...header, start: HEAD_SIZE, previous: header.salt })
  const frames = decodeFrames(chunks)
  const last = chunks.at(-1)
  check(slot.chainCrc === (last ? last.chainCrc : header.salt), 'the slot knows the last chunk')
  check(slot.logicalEnd === (last ? last.logicalEnd : header.base), `the slot's logical end, ${slot.logicalEnd}`)
  check(slot.reservedEnd === 0 || slot.reservedEnd >= slot.logicalEnd, `the slot's reserved end, ${slot.reservedEnd}`)
  check(slot.epoch >= (last ? last.epoch : 1), 'the slot has the epoch of the last writer')
  const erased = chunks.reduce((sum, chunk) => sum + chunk.erased, 0)
  check(slot.erased === null || slot.erased === erased, `the slot counts ${slot.erased} erased, the chunks ${erased}`)
  const lastFrame = frames.findLast((frame) => !frame.isErased)
  check(slot.last === (lastFrame ? lastFrame.seq : -1), `the slot's last record, ${slot.last}`)
  return { header, slot, chunks, frames }
}

/**
 * Where a log that may be open has come to unclean ends: behind which logical position nothing is known any more, and
 * where it goes on. Who goes on from a position behind the one, and up to the other, went on from something lost.
 * @param {Buffer} file
 * @returns {Array<{ end: number, position: number }>}
 */
function findLosses (file) {
  const header = decodeHeader(file)
  /** @type {Chunk[]} */
  const chunks = []
  for (let at = HEAD_SIZE; at < file.length;) {
    const left = PAGE_SIZE - at % PAGE_SIZE
    let chunk
    try {
      chunk = left < 44 ? null : decodeChunk(file.subarray(at, at + left), at, header.salt)
    } catch {
      break
    }
    if (chunk) chunks.push(chunk)
    at += chunk ? 40 + chunk.payload.length : left
  }
  while (chunks.at(-1)?.commitContinues) chunks.pop()
  decodeFrames(chunks)
  return chunks.flatMap(({ isAfterLoss, position }, index) => {
    return isAfterLoss ? [{ end: index === 0 ? header.base : chunks[index - 1].logicalEnd, position }] : []
  })
}

/** @param {Buffer} file */
function decodeHeader (file) {
  check(file.length >= HEAD_SIZE, 'a file has a whole head')
  const bytes = file.subarray(0, 64)
  check(bytes.equals(file.subarray(8192, 8192 + 64)), 'the copies of the header are the same')
  check(isZero(file.subarray(64, 4096)) && isZero(file.subarray(8192 + 64, 12288)), 'zeros around the header')
  check(bytes.toString('hex', 0, 8) === MAGIC, 'the magic')
  check(bytes.readUInt16BE(8) === 1 && (bytes.readUInt16BE(10) & ~1) === 2 && bytes[38] === 1, 'version, flags, checksum')
  check(crc(bytes.subarray(0, 60)) === bytes.readUInt32BE(60), 'the crc of the header')
  return {
    salt: bytes.readUInt32BE(12),
    hasGaps: (bytes.readUInt16BE(10) & 1) !== 0,
    base: bytes.readUIntBE(32, 6),
    codec: bytes.toString('utf8', 40, 40 + bytes[39])
  }
}

/**
 * @param {Buffer} area
 * @param {number} salt
 */
function decodeSlot (area, salt) {
  check(isZero(area.subarray(512)) && isZero(area.subarray(48, 512)), 'zeros around a slot')
  check(crc(area.subarray(4, 512), salt) === area.readUInt32BE(0), 'the crc of a slot')
  return {
    sequence: area.readUIntBE(4, 6),
    epoch: area.readUInt32BE(10),
    end: area.readUIntBE(14, 6),
    logicalEnd: area.readUIntBE(20, 6),
    last: area.readUIntBE(26, 6) - 1,
    erased: area.readUIntBE(32, 6) === 0 ? null : area.readUIntBE(32, 6) - 1,
    chainCrc: area.readUInt32BE(38),
    reservedEnd: area.readUIntBE(42, 6)
  }
}

/**
 * @param {Buffer} bytes  chunks, from the physical position `start` on
 * @param {object} log
 * @param {number} log.salt
 * @param {number} log.base
 * @param {boolean} log.hasGaps
 * @param {number} log.start
 * @param {number} log.previous  chain crc of the chunk before
 * @param {number} [log.ahead]  what unclean ends before have left out
 */
function decodeChunks (bytes, { salt, base, hasGaps, start, previous, ahead = 0 }) {
  const chunks = []
  let epoch = 0
  for (let offset = 0; offset < bytes.length;) {
    const at = start + offset
    const left = PAGE_SIZE - at % PAGE_SIZE
    if (left < 44) {
      check(isZero(bytes.subarray(offset, offset + left)), `zeros at the end of a page, ${at}`)
      offset += left
      continue
    }
    const chunk = decodeChunk(bytes.subarray(offset, offset + left), at, salt)
    const { position, continued, payload } = chunk
    const expected = at + base - HEAD_SIZE
    if (!hasGaps && chunk.isAfterLoss) {
      const jump = position - expected - ahead
      check(jump > 0 && jump % 2 ** 32 === 0, `the jump in front of the chunk at ${at}: ${jump}`)
      ahead += jump
    }
    check(hasGaps ? position >= expected : position === expected + ahead, `the position of the chunk at ${at}: ${position}`)
    check(!chunk.isAfterLoss || continued === 0, `nothing goes on behind an unclean end, ${at}`)
    check(continued === 0 || at % PAGE_SIZE === 0, `only the first chunk of a page goes on, ${at}`)
    check(chunk.previous === previous, `the chunk at ${at} follows the one before`)
    check(chunk.epoch >= epoch, `the epoch of the chunk at ${at}`)
    chunks.push(chunk)
    previous = chunk.chainCrc
    epoch = chunk.epoch
    offset += 40 + payload.length
  }
  check(!chunks.at(-1)?.commitContinues, 'the last chunk ends its commit')
  return chunks
}

/** @typedef {ReturnType<typeof decodeChunk>} Chunk */

/**
 * @param {Buffer} bytes  from the chunk on
 * @param {number} at  its position in the file
 * @param {number} salt
 */
function decodeChunk (bytes, at, salt) {
  check(bytes.length >= 44 || bytes.length >= 40, `a whole header at ${at}`)
  const size = bytes.readUInt16BE(8)
  const flags = bytes.readUInt16BE(10)
  const continued = bytes.readUInt16BE(28)
  check(40 + size <= bytes.length, `the size of the chunk at ${at}: ${size}`)
  check(size >= continued && (size >= 4 || size === continued), `the chunk at ${at} has ${size} bytes, ${continued} continued`)
  check((flags & ~15) === 0, `the flags of the chunk at ${at}: ${flags}`)
  check(crc(bytes.subarray(4, 40), salt) === bytes.readUInt32BE(0), `the crc of the header at ${at}`)
  const payload = bytes.subarray(40, 40 + size)
  check(crc(payload) === bytes.readUInt32BE(4), `the crc of the payload at ${at}`)
  check(bytes.readUIntBE(22, 6) <= bytes.readUIntBE(16, 6), `what was durable when the chunk at ${at} was written`)
  const isErased = (flags & 2) !== 0
  check(isErased || bytes.readUInt32BE(36) === 0, `no originalCrc before anything is erased, ${at}`)
  check(isErased === (bytes.readUInt16BE(30) > 0), `the erased count goes with its flag, ${at}`)
  check((flags & 4) === 0 || (isErased && continued > 0), `the rest that was erased, ${at}`)
  return {
    at,
    payload,
    continued,
    commitContinues: (flags & 1) !== 0,
    isRestErased: (flags & 4) !== 0,
    isAfterLoss: (flags & 8) !== 0,
    epoch: bytes.readUInt32BE(12),
    position: bytes.readUIntBE(16, 6),
    durable: bytes.readUIntBE(22, 6),
    erased: bytes.readUInt16BE(30),
    previous: bytes.readUInt32BE(32),
    chainCrc: isErased ? bytes.readUInt32BE(36) : bytes.readUInt32BE(0),
    logicalEnd: -1
  }
}

/**
 * @param {ReturnType<typeof decodeChunks>} chunks  each gets its logical end
 * @returns {Array<{ seq: number, data: Buffer, isErased: boolean }>}
 */
function decodeFrames (chunks) {
  /** @type {Array<{ seq: number, isErased: boolean, size: number, pieces: Buffer[] }>} */
  const frames = []
  let rest = 0
  let frameEnd = 0
  for (const chunk of chunks) {
    const { at, payload, continued, position } = chunk
    check(position + 40 + continued >= frameEnd, `the first frame of the chunk at ${at} is not behind the one before`)
    check(continued === Math.min(rest, PIECE_SIZE), `the chunk at ${at} continues ${continued} of ${rest} bytes`)
    if (continued > 0) {
      const last = frames[frames.length - 1]
      last.pieces.push(payload.subarray(0, continued))
      check(last.isErased === chunk.isRestErased, `the chunk at ${at} goes on as its record began`)
    }
    rest -= continued
    check(rest === 0 || payload.length === continued, `the chunk at ${at} is full of a record that goes on`)
    let offset = continued
    let gaps = 0
    frameEnd = position + 40 + continued
    while (payload.length - offset >= 4) {
      const type = payload[offset] >>> 6
      const size = payload.readUInt32BE(offset) % 2 ** 30
      const seq = position + 40 + offset + gaps
      offset += 4
      if (type === 3) {
        gaps += size
      } else if (type === 1) {
        check(size === payload.length - offset, `the padding of the chunk at ${at} ends with it`)
        check(isZero(payload.subarray(offset)), `zeros in the padding of the chunk at ${at}`)
        offset = payload.length
      } else {
        const piece = payload.subarray(offset, offset + size)
        frames.push({ seq, isErased: type === 2, size, pieces: [piece] })
        rest = size - piece.length
        offset += piece.length
        check(rest === 0 || (at + 40 + offset) % PAGE_SIZE === 0, `the chunk at ${at} ends with its page, to go on`)
      }
      if (type !== 1) frameEnd = position + 40 + offset + gaps
    }
    check(isZero(payload.subarray(offset)), `zeros at the end of the chunk at ${at}`)
    chunk.logicalEnd = position + 40 + payload.length + gaps
  }
  check(rest === 0, 'the last record is whole')
  return frames.map(({ seq, isErased, size, pieces }) => {
    const data = Buffer.concat(pieces)
    check(data.length === size, `the record at ${seq} has ${data.length} of ${size} bytes`)
    check(!isErased || isZero(data), `an erased record is zeros, ${seq}`)
    return { seq, isErased, data }
  })
}

exports.crc = crc
exports.decodeLog = decodeLog
exports.findLosses = findLosses
exports.decodeChunks = decodeChunks
exports.decodeFrames = decodeFrames
