'use strict'
// Gets the record of a seq from an offset log, and deletes records there.

const { misuse } = require('@millrace/errors')
const { eachInOrder } = require('@millrace/flow')
const { FRAME_HEAD_SIZE, isAllZero, tooLargeToRead } = require('@millrace/framing')
const { notFound } = require('../errors')
const { isBoundary } = require('./offset-reader')

/**
 * @typedef {import('../offset-store').OffsetStore} OffsetStore
 * @typedef {import('../getter').Found} Found
 */

/**
 * @param {OffsetStore} store
 * @param {unknown} seq
 * @param {import('../errors').Call} call
 * @param {(err: Error | null, found?: Found) => void} cb  ERR_RECORD_NOT_FOUND if no record begins there
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
      blocks.read(seq + FRAME_HEAD_SIZE, frameEnd, (err, bytes) => {
        if (err || !bytes) return cb(err)
        const agrees = bytes.readUInt32BE(size) === size && framing.isEndIn(bytes, frameEnd)
        if (!agrees) return cb(framing.contradiction(seq, frameEnd))
        cb(null, { data: bytes.subarray(0, size), isDeleted: isAllZero(bytes, 0, size) })
      })
    })
  })
}

// Finds a record without waiting: in a cached block, or with one small read. It leaves every unusual case to
// `readRecord`, which says what is wrong.

// The size of the first read follows the sizes of the records, so that one record in twenty is larger. A larger record
// needs a second read, which costs as much as 8 KiB more in the first.
const WISH_MIN = 512
const WISH_MAX = 4096
const WISH_LESS = 8
const WISH_MORE = 19 * WISH_LESS

class RecordPeeker {
  /** @param {OffsetStore} store */
  constructor (store) {
    this._store = store
    this._peeker = store.blocks.createPeeker()
    // Where the last record ended. If the next seq is this one, records are being read in order.
    this._nextSeq = -1
    this._wish = WISH_MAX / 2
    /** Where the found record is in `bytes`. Invalid once anything else is read or awaited. */
    this.start = 0
    this.end = 0
  }

  get bytes () {
    return this._peeker.bytes
  }

  /** @returns {Buffer}  the found record; the caller owns it */
  take () {
    return this._peeker.take(this.start, this.end)
  }

  /**
   * @param {number} seq  any number
   * @returns {boolean}  whether it found a whole frame of an undeleted record
   */
  // eslint-disable-next-line complexity -- the hot path of get
  find (seq) {
    const { framing, end, maxRecordSize } = this._store
    const { overhead, trailerSize } = framing
    if (!Number.isSafeInteger(seq) || seq < 0 || seq + overhead > end || (seq > 0 && seq < overhead)) return false
    // Another frame must end where this one begins.
    const before = seq === 0 ? 0 : framing.endSize
    const position = seq - before
    const peeker = this._peeker
    const inOrder = seq === this._nextSeq
    if (!peeker.look(position, before + FRAME_HEAD_SIZE, Math.min(this._wish, end - position), inOrder)) return false
    const size = peeker.view.getUint32(peeker.offset + before)
    const frameEnd = seq + size + overhead
    if (frameEnd > end || size > maxRecordSize) return false
    const wanted = frameEnd - position
    if (wanted > this._wish) this._wish = Math.min(WISH_MAX, this._wish + WISH_MORE)
    else if (this._wish > WISH_MIN) this._wish -= WISH_LESS
    if (wanted > peeker.size && !peeker.read(position, wanted)) return false
    const { bytes, view, offset } = peeker
    const start = offset + before + FRAME_HEAD_SIZE
    const dataEnd = start + size
    if (before > 0 && !framing.isEndAt(view, offset + before, seq)) return false
    // Check the size again: the bytes may have been read a second time, while another process was writing.
    if (view.getUint32(start - FRAME_HEAD_SIZE) !== size || view.getUint32(dataEnd) !== size) return false
    if (!framing.isEndAt(view, dataEnd + trailerSize, frameEnd) || isAllZero(bytes, start, dataEnd)) return false
    this.start = start
    this.end = dataEnd
    this._nextSeq = frameEnd
    return true
  }
}

// Deletes records: in the offset framings, zeros replace their data.

/**
 * All seqs are looked up before any byte is written, so a call with a wrong seq deletes nothing. Deleting a record
 * again is no error.
 * @type {(store: OffsetStore, seqs: number[], cb: (err: Error | null) => void) => void}
 */
function deleteRecords (store, seqs, cb) {
  findUndeleted(store, seqs, (err, found) => {
    if (err || !found) return cb(err)
    eraseAll(store, found, cb)
  })
}

/**
 * @typedef {{ seq: number, size: number }} Erasable
 * @param {OffsetStore} store
 * @param {number[]} seqs
 * @param {(err: Error | null, found?: Erasable[]) => void} cb
 */
function findUndeleted (store, seqs, cb) {
  /** @type {Erasable[]} */
  const found = []
  eachInOrder(seqs, (seq, next) => {
    readRecord(store, seq, 'del', (err, record) => {
      if (record && !record.isDeleted) found.push({ seq, size: record.data.length })
      next(err)
    })
  }, (err) => cb(err, found))
}

/** @type {(store: OffsetStore, found: Erasable[], cb: (err: Error | null) => void) => void} */
function eraseAll ({ blocks }, found, cb) {
  eachInOrder(found, ({ seq, size }, next) => blocks.write(Buffer.alloc(size), seq + FRAME_HEAD_SIZE, next), cb)
}

exports.readRecord = readRecord
exports.RecordPeeker = RecordPeeker
exports.deleteRecords = deleteRecords
