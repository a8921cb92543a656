'use strict'
// Reads the one record that a seq names, from verified pages.

const { LogError, misuse } = require('@millrace/errors')
const { notFound, tooLargeToRead } = require('../../record-errors')
const { UNSURE_GAP, findFrame, readNext } = require('./check-page')
const { ForwardReader } = require('./forward-reader')
const { CHUNK_HEADER_SIZE, FRAME_TYPES, LENGTH_SIZE, PAGE_SIZE } = require('./layout')
const { findRecordEnd } = require('./split-record')

// A larger record is read in one go, past the cache, which it would only empty.
const CACHED_SIZE_MAX = 4 * PAGE_SIZE

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./check-page').Frame} Frame
 * @typedef {import('./check-page').Page} Page
 * @typedef {{ data: Buffer, isDeleted: boolean }} Found  `data` is the caller's own
 */

/**
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {import('../../record-errors').Call} call
 * @param {(err: Error | null, frame?: Frame, page?: Page) => void} cb  ERR_RECORD_NOT_FOUND when no record begins there
 */
function findRecord (store, seq, call, cb) {
  if (typeof seq !== 'number') return cb(misuse(`${call}: expected the seq of a record, got ${typeof seq}`))
  if (!Number.isSafeInteger(seq) || seq < 0 || seq >= store.logEnd) return cb(notFound(call, store.path, seq))
  store.findPage(seq, (err, start = 0) => {
    if (err) return cb(err)
    if (start < 0) return cb(notFound(call, store.path, seq))
    store.pages.read(start, (err, page) => {
      if (err || !page) return cb(err)
      const frame = findFrame(page, seq, store.rules.hasGaps)
      // What compaction has left out was deleted.
      const isGap = frame !== null && frame.type === FRAME_TYPES.GAP
      const isMissing = frame === null || (isGap && !store.rules.hasGaps)
      const answer = () => isMissing ? cb(notFound(call, store.path, seq)) : cb(null, frame, page)
      if (frame !== UNSURE_GAP || !store.hasJumps) return answer()
      // It may have been lost; or what says where to look is itself from before it was.
      scanFor(store, seq, store.pageBefore(start), false, (err) => err ? cb(err) : answer())
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {(err: Error | null, found?: Found) => void} cb  ERR_RECORD_NOT_FOUND when no record begins there
 */
function readRecord (store, seq, cb) {
  const { rewriteCount } = store.blocks
  readOnce(store, seq, (err, found) => {
    // Its pieces may be from before and after it was deleted.
    if (rewriteCount !== store.blocks.rewriteCount) readRecord(store, seq, cb)
    else if (isDamage(err)) readPastDamage(store, /** @type {number} */ (seq), err, cb)
    else cb(err, found)
  })
}

/**
 * @param {CheckedStore} store
 * @param {unknown} seq
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function readOnce (store, seq, cb) {
  findRecord(store, seq, 'get', (err, frame, page) => {
    if (err || !frame || !page) return cb(err)
    const { size, at, type } = frame
    if (type !== FRAME_TYPES.RECORD) return cb(null, { data: Buffer.alloc(0), isDeleted: true })
    const seqNumber = /** @type {number} */ (seq)
    if (size > store.maxRecordSize) return cb(tooLargeToRead(seqNumber, size, store.maxRecordSize))
    if (size > CACHED_SIZE_MAX) return readLargeRecord(store, seqNumber, page.start, cb)
    if (findRecordEnd(frame, size) > store.end) return cb(pastEnd(store, frame))
    const data = Buffer.allocUnsafe(size)
    const dataOffset = page.offset + at + LENGTH_SIZE - page.start
    const done = page.bytes.copy(data, 0, dataOffset, dataOffset + Math.min(size, frame.chunkEnd - at - LENGTH_SIZE))
    readPieces(store, { start: page.start + PAGE_SIZE, identity: frame.identity, data, done }, cb)
  })
}

/**
 * @param {CheckedStore} store
 * @param {object} rest
 * @param {number} rest.start  of the next page
 * @param {number} rest.identity  of the chunk that the record was on last
 * @param {Buffer} rest.data
 * @param {number} rest.done  how much of it is there
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function readPieces (store, { start, identity, data, done }, cb) {
  if (done === data.length) return cb(null, { data, isDeleted: false })
  store.pages.read(start, (err, page) => {
    if (err || !page) return cb(err)
    const { bytes, offset, end } = page
    const size = Math.min(data.length - done, PAGE_SIZE - CHUNK_HEADER_SIZE)
    const header = readNext(page, identity)
    if (!header?.hasRest(size)) return cb(store.damageError({ start, end, what: 'its part of a record' }))
    bytes.copy(data, done, offset + CHUNK_HEADER_SIZE, offset + CHUNK_HEADER_SIZE + size)
    readPieces(store, { start: start + PAGE_SIZE, identity: header.identity, data, done: done + size }, cb)
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {number} pageStart
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function readLargeRecord (store, seq, pageStart, cb) {
  scanFor(store, seq, pageStart, false, (err, data) => {
    if (err) cb(err)
    else cb(null, { data: data ?? Buffer.alloc(0), isDeleted: data === null })
  })
}

/**
 * What else is on a page may be damaged, and the record not.
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {Error} damage
 * @param {(err: Error | null, found?: Found) => void} cb
 */
function readPastDamage (store, seq, damage, cb) {
  store.findPage(seq, (err, start = 0) => {
    if (err) return cb(damage)
    scanFor(store, seq, start, true, (err, data) => {
      if (err || !data) cb(damage)
      else cb(null, { data, isDeleted: false })
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {number} pageStart
 * @param {boolean} skipsDamage
 * @param {(err: Error | null, data?: Buffer | null) => void} cb  null when there is no such record
 */
function scanFor (store, seq, pageStart, skipsDamage, cb) {
  // Not again and again: whoever asks for a record looks again, and each look makes what was read before it stale.
  const wanted = { from: seq, stop: seq + 1, isWanted: null, skipsDamage, looksAgain: false }
  new ForwardReader(store, wanted, pageStart).next(store.logEnd, (err, chunk) => {
    if (err || !chunk) return cb(err)
    cb(null, chunk.count === 0 ? null : Buffer.from(chunk.buffer.subarray(chunk.starts[0], chunk.ends[0])))
  })
}

/**
 * @param {Error | null} err
 * @returns {err is LogError}
 */
function isDamage (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_CORRUPT'
}

/**
 * @param {CheckedStore} store
 * @param {Frame} frame
 */
function pastEnd (store, { chunkStart, chunkEnd }) {
  return store.damageError({ start: chunkStart, end: chunkEnd, what: 'the length of a record' })
}

exports.findRecord = findRecord
exports.scanFor = scanFor
exports.readRecord = readRecord
