'use strict'
// Readers of a range, from the page where its records begin; and what is asked of the log about such places.

const { LogError } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { CHUNK_HEADER_SIZE, ChunkHeader, HEAD_SIZE, PAGE_SIZE, readChunkHeader } = require('@millrace/framing')
const { BackwardReader } = require('./backward-reader')
const { ForwardReader } = require('./forward-reader')
const { scanFor } = require('./get-record')

/**
 * @typedef {import('../checked-store').CheckedStore} CheckedStore
 * @typedef {import('../range').Range & Pick<import('./record-reader').Wanted, 'onLoss' | 'isStrict'>} StoreRange
 * @typedef {(err: Error | null, reader?: ForwardReader | BackwardReader) => void} Opened
 */

/**
 * @param {CheckedStore} store
 * @param {StoreRange} range
 * @param {import('../codec').RecordFilter | null} isWanted
 * @param {Opened} cb
 */
function openReader (store, range, isWanted, cb) {
  const { from, stop, skipsDamage = false, onLoss, isKept, isStrict, at } = range
  const wanted = { from, stop, isWanted, skipsDamage, onLoss, isKept, isStrict, provesTogether: true }
  // It may be another file by now.
  if (at === undefined || at + PAGE_SIZE > store.blocks.size.value) return openAtSeq(store, wanted, range.reverse, cb)
  readFirstSeq(store, at, (err, seq) => {
    if (err || seq !== from) openAtSeq(store, wanted, false, cb)
    else cb(null, new ForwardReader(store, wanted, at))
  })
}

/**
 * @param {CheckedStore} store
 * @param {import('./record-reader').Wanted} wanted
 * @param {boolean} reverse
 * @param {Opened} cb
 */
function openAtSeq (store, wanted, reverse, cb) {
  const { from, stop, skipsDamage } = wanted
  const bound = reverse ? Math.min(stop, store.logEnd) - 1 : Math.min(from, store.logEnd)
  findPage(store, Math.max(bound, 0), (err, pageStart = 0) => {
    if (err && !skipsDamage) return cb(err)
    // Where damage is in the way of finding the page, all of the log is gone through, from the end that comes first.
    const page = err ? outermostPage(store, reverse) : Math.max(HEAD_SIZE, pageStart)
    const begin = store.hasSkippedSeqs && !reverse ? store.pageBefore(page) : page
    if (!reverse) return cb(null, new ForwardReader(store, wanted, begin))
    checkBound(store, stop, (err) => err ? cb(err) : cb(null, new BackwardReader(store, wanted, page)))
  })
}

/**
 * @param {CheckedStore} store
 * @param {boolean} isLast
 */
function outermostPage ({ end }, isLast) {
  const lastByte = isLast ? Math.max(HEAD_SIZE, end - 1) : HEAD_SIZE
  return lastByte - lastByte % PAGE_SIZE
}

/**
 * @param {CheckedStore} store
 * @param {number} seq  where somebody goes on
 * @param {(err: Error | null) => void} cb  ERR_LOG_SEQ_LOST if what was there was lost
 */
function checkBound (store, seq, cb) {
  if (!store.hasSkippedSeqs || seq >= store.logEnd) return cb(null)
  findPage(store, seq, (err, pageStart = 0) => {
    if (err) return cb(null)
    scanFor(store, seq, store.pageBefore(pageStart), false, (err) => cb(isOfLoss(err) ? err : null))
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} before  a seq
 * @param {(err: Error | null, seq?: number) => void} cb  of the last record before it that is not deleted; -1 if none
 */
function findLast (store, before, cb) {
  const wanted = { from: 0, stop: before, isWanted: null, skipsDamage: true }
  findPage(store, Math.min(before, store.logEnd) - 1, (err, pageStart = 0) => {
    const reader = new BackwardReader(store, wanted, err ? outermostPage(store, true) : Math.max(HEAD_SIZE, pageStart))
    reader.next(store.logEnd, (err, chunk) => {
      // One that is too large to be looked at is there all the same.
      if (err) return isTooLarge(err) ? cb(null, err.offset) : cb(err)
      cb(null, chunk && chunk.count > 0 ? chunk.seqs[0] : -1)
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} from
 * @param {number} stop
 * @param {(err: Error | null, extent?: import('../load').Extent) => void} cb
 */
function findExtent (store, from, stop, cb) {
  findPage(store, Math.min(from, store.logEnd), (err, page = 0) => {
    if (err) return cb(err)
    const start = Math.max(HEAD_SIZE, page)
    if (stop >= store.logEnd) return cb(null, { start, end: store.end })
    findPage(store, stop, (err, end = 0) => cb(err, { start, end }))
  })
}

/** @param {Error | null} err */
function isOfLoss (err) {
  return err instanceof LogError && err.code === 'ERR_LOG_SEQ_LOST'
}

/**
 * @param {Error} err
 * @returns {err is LogError}
 */
function isTooLarge (err) {
  return err instanceof LogError && err.code === 'ERR_RECORD_TOO_LARGE'
}

// Finds the page where the record of a seq would begin.

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {(err: Error | null, pageStart?: number) => void} cb  the last page that begins at or before the seq; below 0
 *   when all begin after it
 */
function findPage (store, seq, cb) {
  const { rules: { shift, hasGaps }, tail, end } = store
  const physical = seq - shift
  if (physical < HEAD_SIZE || end <= HEAD_SIZE) return cb(null, -1)
  const last = Math.max(HEAD_SIZE, Math.min(physical, end - 1))
  const lastPage = last - last % PAGE_SIZE
  if (!hasGaps && tail.shift === shift) return cb(null, lastPage)
  // Gaps and skipped positions move records towards the start of the file, never away from it; skipped ones no further
  // than at its end.
  const least = hasGaps ? HEAD_SIZE : Math.max(HEAD_SIZE, seq - tail.shift)
  const firstPage = Math.min(lastPage, least - least % PAGE_SIZE)
  // Nearly always it is the last one that it can be, where nothing is left out; or the first, behind the last skip.
  readFirstHeader(store, lastPage, (err, header) => {
    if (!header) return lastPage === HEAD_SIZE ? cb(err) : bisect(store, seq, HEAD_SIZE, lastPage, cb)
    if (header.firstSeq <= seq) return cb(null, lastPage)
    if (firstPage === HEAD_SIZE) return bisect(store, seq, HEAD_SIZE, lastPage - PAGE_SIZE, cb)
    readFirstHeader(store, firstPage, (err, header) => {
      if (!header) return cb(err)
      const isBehind = header.firstSeq > seq
      const isBehindLastSkip = header.position - firstPage === tail.shift
      if (isBehind || isBehindLastSkip) return cb(null, isBehind ? firstPage - PAGE_SIZE : firstPage)
      bisect(store, seq, firstPage, lastPage - PAGE_SIZE, cb)
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} start  of a page
 * @param {(err: Error | null, header?: ChunkHeader) => void} cb  of its first chunk
 */
function readFirstHeader (store, start, cb) {
  store.pages.read(start, (err, page) => {
    if (err || !page) return cb(err)
    const { bytes, offset } = page
    const header = new ChunkHeader()
    readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset, header)
    cb(null, header)
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {number} low  a page that begins at or before the seq
 * @param {number} high  the last page to look at
 * @param {(err: Error | null, pageStart?: number) => void} cb
 */
function bisect (store, seq, low, high, cb) {
  if (low >= high) return cb(null, low)
  const pageCount = (high - low) / PAGE_SIZE
  const middle = low + Math.ceil(pageCount / 2) * PAGE_SIZE
  readFirstHeader(store, middle, (err, header) => {
    if (err || !header) return cb(err)
    // A page may begin at positions that the record before it has too: what counts is its first frame.
    if (header.firstSeq <= seq) bisect(store, seq, middle, high, cb)
    else bisect(store, seq, low, middle - PAGE_SIZE, cb)
  })
}

// Where a checked log can be partitioned, to be read by two threads: at a page, between two records. What is read for
// it is not verified: who reads up to there must say whether it is one.

// Pages that do nothing but go on with a record have no partition start. Not more are looked at than this: 16 MiB.
const PAGE_COUNT_MAX = 1024

/**
 * @typedef {import('../load').PartitionStart} PartitionStart
 */

/**
 * @param {CheckedStore} store
 * @param {number} from  physical
 * @param {number} limit  physical
 * @param {(err: Error | null, start?: PartitionStart | null) => void} cb  the first one between the two, or not far
 *   behind the first
 */
function findPartition (store, from, limit, cb) {
  let page = Math.ceil(from / PAGE_SIZE) * PAGE_SIZE
  const last = Math.min(limit, page + PAGE_COUNT_MAX * PAGE_SIZE) - PAGE_SIZE
  trampoline((next) => {
    if (page > last) return cb(null, null)
    readFirstSeq(store, page, (err, seq = null) => {
      if (err || seq !== null) return cb(err, seq === null ? null : { seq, at: page })
      page += PAGE_SIZE
      next()
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {number} page  physical
 * @param {(err: Error | null, seq?: number | null) => void} cb  the first seq that can begin on it; null if none can
 */
function readFirstSeq ({ blocks }, page, cb) {
  const bytes = Buffer.alloc(CHUNK_HEADER_SIZE)
  blocks.readInto(bytes, page, (err) => {
    if (err) return cb(err)
    const header = new ChunkHeader()
    readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, header)
    // Where a record fills the page it may go on.
    const isOne = header.size > 0 && CHUNK_HEADER_SIZE + header.continued < PAGE_SIZE
    cb(null, isOne ? header.firstSeq : null)
  })
}

exports.openReader = openReader
exports.findLast = findLast
exports.findExtent = findExtent
exports.findPage = findPage
exports.findPartition = findPartition
