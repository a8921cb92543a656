'use strict'
// Reads the one record that a seq names.

const { misuse } = require('@millrace/errors')
const { isBoundary } = require('./locate')
const { HEAD_SIZE, isAllZero } = require('./offset-framing')
const { notFound, tooLargeToRead } = require('../../record-errors')

/**
 * @typedef {import('./offset-store').OffsetStore} OffsetStore
 * @typedef {{ data: Buffer, isDeleted: boolean }} Found  `data` is the caller's own
 */

/**
 * @param {OffsetStore} store
 * @param {unknown} seq
 * @param {import('../../record-errors').Call} call
 * @param {(err: Error | null, found?: Found) => void} cb  ERR_RECORD_NOT_FOUND when no record begins there
 */
function readRecord (store, seq, call, cb) {
  const { blocks, framing, end } = store
  if (typeof seq !== 'number') return cb(misuse(`${call}: expected the seq of a record, got ${typeof seq}`))
  if (!Number.isSafeInteger(seq) || seq < 0 || seq >= end) return cb(notFound(call, blocks.path, seq))
  isBoundary(store, seq, (err, isOne) => {
    if (err) return cb(err)
    if (!isOne) return cb(notFound(call, blocks.path, seq))
    blocks.readUInt32BE(seq, (err, size = 0) => {
      if (err) return cb(err)
      const frameEnd = seq + size + framing.overhead
      if (frameEnd > end) return cb(seq === 0 ? framing.contradiction(seq, frameEnd) : notFound(call, blocks.path, seq))
      if (size > store.maxRecordSize) return cb(tooLargeToRead(seq, size, store.maxRecordSize))
      blocks.read(seq + HEAD_SIZE, frameEnd, (err, bytes) => {
        if (err || !bytes) return cb(err)
        const agrees = bytes.readUInt32BE(size) === size && framing.isEndIn(bytes, frameEnd)
        if (!agrees) return cb(framing.contradiction(seq, frameEnd))
        cb(null, { data: bytes.subarray(0, size), isDeleted: isAllZero(bytes, 0, size) })
      })
    })
  })
}

exports.readRecord = readRecord
