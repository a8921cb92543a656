'use strict'
// All that the bench reaches for in the insides of the packages: what bounds a row is worked out with the same checksum
// over the same layout, and a log of 10 GB with a hole in it cannot be had from outside.

const { SpanReader } = require('@millrace/block-file')
const { putUint32 } = require('@millrace/flow')
const { AppendGroup } = require('@millrace/offset-log/lib/appender')
const {
  CONTINUED_OFFSET, PAYLOAD_SIZE_OFFSET, crc32, decodeFileHeader, decodeSlot, encodeSlot, CHUNK_HEADER_SIZE,
  CHUNK_SIZE_MIN, FRAME_TYPES, HEADER_SIZE, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, SLOT_POSITIONS, SLOT_SIZE, packCommit,
  packedSizeMax
} = require('@millrace/framing')

/**
 * From the head of a log that was closed cleanly to that of one which ends elsewhere, and its last commit, as the log
 * itself would have put it there.
 * @param {Buffer} head  changed to be that of the other log
 * @param {number} size  of the other, at least
 * @param {Buffer[]} records  of the last commit
 * @returns {{ end: number, bytes: Buffer }}  the commit, and where it begins
 */
function packFarCommit (head, size, records) {
  const header = decodeFileHeader(head.subarray(0, HEADER_SIZE))
  if (header === null || !('salt' in header)) throw new Error('no header that can be read')
  const slots = SLOT_POSITIONS.map((position) => decodeSlot(head.subarray(position, position + SLOT_SIZE), header.salt))
  const newest = slots.reduce((a, b) => a === null || (b !== null && b.sequence > a.sequence) ? b : a)
  if (newest === null) throw new Error('no checkpoint')
  const end = Math.ceil(size / PAGE_SIZE) * PAGE_SIZE
  const group = new AppendGroup()
  for (const record of records) group.add(record, LENGTH_SIZE + record.length, () => {})
  const writer = { salt: header.salt, epoch: newest.epoch, durable: end }
  const target = Buffer.alloc(packedSizeMax(group.size))
  const { bytes, seq, tail } = packCommit(group, { end, shift: 0, chainCrc: newest.chainCrc }, writer, target)
  const slot = { ...newest, end: tail.end, logicalEnd: tail.end, last: seq, chainCrc: tail.chainCrc }
  for (const position of SLOT_POSITIONS) encodeSlot(slot, header.salt).copy(head, position)
  return { end, bytes }
}

/** There is no option for it, and no use but one row. */
function takeNoBreaks () {
  const prototype = /** @type {any} */ (SpanReader.prototype)
  if (typeof prototype._inSlice !== 'function') throw new Error('the span reader takes its breaks elsewhere now')
  prototype._inSlice = (/** @type {() => void} */ load) => load()
}

/**
 * Goes from record to record of a page, and looks at nothing but lengths.
 * @param {DataView} view
 * @param {number} pageStart
 * @param {number} pageEnd
 * @param {{ records: number, delivered: number }} counts
 */
function walkPage (view, pageStart, pageEnd, counts) {
  let [records, delivered] = [0, 0]
  for (let start = pageStart; pageEnd - start >= CHUNK_SIZE_MIN;) {
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
  counts.records += records
  counts.delivered += delivered
}

exports.crc32 = crc32
exports.packFarCommit = packFarCommit
exports.putUint32 = putUint32
exports.takeNoBreaks = takeNoBreaks
exports.walkPage = walkPage
exports.HEAD_SIZE = HEAD_SIZE
exports.LENGTH_SIZE = LENGTH_SIZE
exports.PAGE_SIZE = PAGE_SIZE
