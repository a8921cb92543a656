'use strict'
// Logs that were closed cleanly: one of a given size, written in full, and one far larger that is true where opening
// reads it and a hole in between.

const fs = require('node:fs')
const { OffsetLog } = require('@millrace/offset-log')
const { AppendGroup } = require('@millrace/offset-log/lib/append-group')
const { packCommit, packedSizeMax } = require('@millrace/offset-log/lib/framing/checked/pack-commit')
const { decodeFileHeader } = require('@millrace/offset-log/lib/framing/checked/file-header')
const { decodeSlot, encodeSlot } = require('@millrace/offset-log/lib/framing/checked/slot')
const {
  HEADER_SIZE, HEAD_SIZE, LENGTH_SIZE, PAGE_SIZE, SLOT_POSITIONS, SLOT_SIZE
} = require('@millrace/offset-log/lib/framing/checked/layout')
const { createRecords } = require('./records')

const BATCH_SIZE = 1000

/**
 * @param {string} file
 * @param {number} size  bytes of records, at least
 */
async function writeSmallLog (file, size) {
  const log = OffsetLog(file, { framing: 'checked', fsync: 'never' })
  const records = createRecords(BATCH_SIZE)
  const batchSize = records.reduce((total, { length }) => total + length, 0)
  for (let written = 0; written < size; written += batchSize) await log.append(records)
  await log.close()
}

/**
 * The head of another log, and at its end one commit as the log itself would have put it there.
 * @param {string} file
 * @param {number} size  bytes, at least
 * @param {string} small  a log that was closed cleanly
 */
async function writeLargeLog (file, size, small) {
  const head = readHead(small)
  const header = decodeFileHeader(head.subarray(0, HEADER_SIZE))
  if (header === null || !('salt' in header)) throw new Error(`${small} has no header that can be read`)
  const slots = SLOT_POSITIONS.map((position) => decodeSlot(head.subarray(position, position + SLOT_SIZE), header.salt))
  const newest = slots.reduce((a, b) => a === null || (b !== null && b.sequence > a.sequence) ? b : a)
  if (newest === null) throw new Error(`${small} has no checkpoint`)

  const end = Math.ceil(size / PAGE_SIZE) * PAGE_SIZE
  const writer = { salt: header.salt, epoch: newest.epoch, durable: end }
  const group = new AppendGroup()
  for (const record of createRecords(3)) group.addOne(record, LENGTH_SIZE + record.length, () => {})
  const target = Buffer.alloc(packedSizeMax(group.size))
  const { bytes, seq, tail } = packCommit(group, { end, shift: 0, identity: newest.identity }, writer, target)
  const slot = { ...newest, end: tail.end, logicalEnd: tail.end, last: seq, identity: tail.identity }
  for (const position of SLOT_POSITIONS) encodeSlot(slot, header.salt).copy(head, position)

  const fd = fs.openSync(file, 'w', 0o600)
  fs.writeSync(fd, head, 0, head.length, 0)
  fs.writeSync(fd, bytes, 0, bytes.length, end)
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

/** @param {string} file */
function readHead (file) {
  const head = Buffer.alloc(HEAD_SIZE)
  const fd = fs.openSync(file, 'r')
  fs.readSync(fd, head, 0, HEAD_SIZE, 0)
  fs.closeSync(fd)
  return head
}

exports.writeSmallLog = writeSmallLog
exports.writeLargeLog = writeLargeLog
