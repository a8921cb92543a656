'use strict'
// What the packages of the lower layers give: the least work needs the same checksums over the same layout, and no log
// of 10 GB is made by appending to it.

const fs = require('node:fs')
const { putUint32 } = require('@millrace/flow')
const {
  CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET, crc32, decodeFileHeader, decodeSlot, encodeSlot, CHUNK_HEADER_SIZE,
  CHUNK_SIZE_MIN, FRAME_TYPES, HEADER_SIZE, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, SLOT_POSITIONS, SLOT_SIZE, packCommit,
  packedSizeMax
} = require('@millrace/framing')

/**
 * Extends a log that was closed cleanly: makes a head that says where the longer log ends, and its last commit, as the
 * log would have written it.
 * @param {string} file  of the log
 * @param {number} sizeMin  of the longer log
 * @param {Buffer[]} records  of the last commit
 * @returns {{ head: Buffer, end: number, bytes: Buffer }}  `end`: the position of the commit
 */
function packFarCommit (file, sizeMin, records) {
  const head = Buffer.from(fs.readFileSync(file).subarray(0, HEAD_SIZE))
  const header = decodeFileHeader(head.subarray(0, HEADER_SIZE))
  if (header === null || !('salt' in header)) throw new Error('no header that can be read')
  const slots = SLOT_POSITIONS.map((position) => decodeSlot(head.subarray(position, position + SLOT_SIZE), header.salt))
  const newest = slots.reduce((a, b) => a === null || (b !== null && b.sequence > a.sequence) ? b : a)
  if (newest === null) throw new Error('no checkpoint')
  const end = Math.ceil(sizeMin / PAGE_SIZE) * PAGE_SIZE
  const size = records.reduce((sum, { length }) => sum + LENGTH_SIZE + length, 0)
  const appended = { records, ends: records.map((_, index) => index + 1), seqs: [], count: records.length }
  const writer = { salt: header.salt, epoch: newest.epoch, durable: end }
  const target = Buffer.alloc(packedSizeMax(size))
  const { bytes, seq, tail } = packCommit(appended, { end, shift: 0, chainCrc: newest.chainCrc }, writer, target)
  const slot = { ...newest, end: tail.end, logicalEnd: tail.end, last: seq, chainCrc: tail.chainCrc }
  for (const position of SLOT_POSITIONS) encodeSlot(slot, header.salt).copy(head, position)
  return { head, end, bytes }
}

/**
 * A scan yields by `setImmediate`: from now on, what is to run after a turn of the event loop runs at once. Only one
 * row needs this, so there is no option for it.
 */
function takeNoBreaks () {
  const runNow = (/** @type {() => void} */ run) => run()
  globalThis.setImmediate = /** @type {any} */ (runNow)
}

/** Computes a checksum for each page, as a log does. @type {(buf: Buffer, size: number) => void} */
function sumPages (buf, size) {
  for (let start = 0; start < size; start += PAGE_SIZE) crc32(buf.subarray(start, Math.min(size, start + PAGE_SIZE)))
}

/**
 * Computes one checksum of a span, and walks its records page by page. It reads only their lengths.
 * @param {Buffer} span
 * @param {DataView} view  of the span
 * @param {{ size: number, position: number }} place  how much of the span is filled, and its position in the file
 * @param {{ records: number, delivered: number }} counts
 */
function sumAndWalk (span, view, { size, position }, counts) {
  crc32(size === span.length ? span : span.subarray(0, size))
  let [records, delivered] = [0, 0]
  for (let page = position === 0 ? HEAD_SIZE : 0; page < size; page += PAGE_SIZE) {
    const pageEnd = Math.min(size, page + PAGE_SIZE)
    for (let start = page; pageEnd - start >= CHUNK_SIZE_MIN;) {
      const end = start + CHUNK_HEADER_SIZE + view.getUint16(start + PAYLOAD_SIZE_OFFSET)
      let at = start + CHUNK_HEADER_SIZE + view.getUint16(start + CONTINUED_OFFSET)
      while (end - at >= LENGTH_SIZE) {
        const length = view.getInt32(at)
        if (length >>> 30 !== FRAME_TYPES.RECORD) break // padding
        records++
        delivered += length
        at += LENGTH_SIZE + length
      }
      start = end
    }
  }
  counts.records += records
  counts.delivered += delivered
}

exports.packFarCommit = packFarCommit
exports.putUint32 = putUint32
exports.sumAndWalk = sumAndWalk
exports.sumPages = sumPages
exports.takeNoBreaks = takeNoBreaks
