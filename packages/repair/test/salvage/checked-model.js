'use strict'
// What is in a healthy file of the checked framing, and where: written from docs/internals/format.md, slow and
// obvious. From it follows what a repair of the same file, damaged, must give back, and what it may.

const { decodeChunks } = require('../../../framing/test/checked-oracle')

const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const HEADER_SIZE = 40

/**
 * @typedef {object} ModelChunk
 * @property {number} at
 * @property {number} end
 * @property {number} durable  physical: what it says was promised when it was written
 * @property {number} commit  which commit it is part of
 */

/**
 * @typedef {object} ModelRecord
 * @property {number} seq
 * @property {Buffer} data
 * @property {boolean} isErased
 * @property {number[]} chunks  the indexes of those that it lies in
 */

/**
 * @param {Buffer} bytes
 * @param {number} end  where the log ends in them
 */
function modelOf (bytes, end) {
  const salt = bytes.readUInt32BE(12)
  const base = bytes.readUIntBE(32, 6)
  const hasGaps = (bytes.readUInt16BE(10) & 1) !== 0
  const log = { salt, base, hasGaps, start: HEAD_SIZE, previous: salt }
  const decoded = decodeChunks(bytes.subarray(HEAD_SIZE, end), log)
  const chunks = []
  const records = []
  let commit = 0
  let open = null
  decoded.forEach((chunk, index) => {
    const { at, payload, continued, position } = chunk
    chunks.push({ at, end: at + HEADER_SIZE + payload.length, durable: chunk.durable - (position - at), commit })
    if (open) {
      open.pieces.push(payload.subarray(0, continued))
      open.chunks.push(index)
      open.rest -= continued
      if (open.rest === 0) open = null
    }
    let gaps = 0
    for (let offset = continued; payload.length - offset >= 4;) {
      const word = payload.readUInt32BE(offset)
      const size = word % 2 ** 30
      const type = word >>> 30
      const seq = position + HEADER_SIZE + offset + gaps
      offset += 4
      if (type === 1) break
      if (type === 3) {
        gaps += size
        continue
      }
      const piece = payload.subarray(offset, offset + size)
      const record = { seq, isErased: type === 2, pieces: [piece], chunks: [index], rest: size - piece.length, commit }
      records.push(record)
      if (record.rest > 0) open = record
      offset += piece.length
    }
    if (!chunk.commitContinues) commit++
  })
  return { chunks, records: records.map(({ pieces, ...record }) => ({ ...record, data: Buffer.concat(pieces) })) }
}

/**
 * Which bytes of which parts are not what they were.
 * @param {Buffer} healthy
 * @param {Buffer} hurt
 */
function compare (healthy, hurt) {
  const isHit = (start, end) => {
    if (start >= hurt.length) return true
    const stop = Math.min(end, hurt.length)
    return stop < end || healthy.compare(hurt, start, stop, start, stop) !== 0
  }
  return { isHit }
}

/**
 * @param {ReturnType<typeof modelOf>} model
 * @param {object} image
 * @param {Buffer} image.bytes
 * @param {number} image.slotEnd  up to where the newest slot promises it
 * @param {Buffer} hurt
 * @returns {{ must: Set<number>, may: Map<number, Buffer> }}  seqs of the records that must come back, and all that may
 */
function expectedOf (model, { bytes, slotEnd }, hurt) {
  const { isHit } = compare(bytes, hurt)
  const isPayloadHit = model.chunks.map(({ at, end }) => end > at + HEADER_SIZE && isHit(at + HEADER_SIZE, end))
  const isHeaderHit = model.chunks.map(({ at }) => isHit(at, at + HEADER_SIZE))
  const isFillerHit = model.chunks.map(({ end }) => {
    const room = PAGE_SIZE - end % PAGE_SIZE
    return room < 44 && isHit(end, end + room)
  })
  // With a slot that is lost, or old, less is known to have been promised.
  const areSlotsHit = isHit(4096, 8192) || isHit(12288, 16384)
  const claims = model.chunks.map(({ durable }, index) => isHeaderHit[index] ? 0 : durable)
  const promised = Math.max(areSlotsHit ? HEAD_SIZE : slotEnd, ...claims)
  const firstTorn = model.chunks.findIndex(({ at, end }, index) => {
    return (at >= promised && (isHeaderHit[index] || isPayloadHit[index])) || (end >= promised && isFillerHit[index])
  })
  const endsAt = firstTorn === -1 ? Infinity : model.chunks[firstTorn].commit
  const isLost = (index) => {
    if (isPayloadHit[index]) return true
    return isHeaderHit[index] && !isMendable(model.chunks[index], bytes, hurt)
  }
  const must = new Set()
  const may = new Map()
  for (const { seq, data, isErased, chunks, commit } of model.records) {
    if (isErased) continue
    may.set(seq, data)
    if (commit < endsAt && !chunks.some(isLost)) must.add(seq)
  }
  return { must, may }
}

/** Whether one bit of a header was hit: then its checksum says which. */
function isMendable ({ at }, bytes, hurt) {
  const header = hurt.subarray(at, at + HEADER_SIZE)
  if (header.length < HEADER_SIZE) return false
  const bits = [...header].reduce((sum, byte, offset) => sum + (byte ^ bytes[at + offset]).toString(2).replaceAll('0', '').length, 0)
  return bits === 1
}

exports.modelOf = modelOf
exports.expectedOf = expectedOf
exports.compare = compare
