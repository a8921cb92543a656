'use strict'
// Finds the page where the record of a seq would begin.

const { ChunkHeader, readChunkHeader } = require('./chunk-header')
const { HEAD_SIZE, PAGE_SIZE } = require('./layout')

/** @typedef {import('./checked-store').CheckedStore} CheckedStore */

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {(err: Error | null, pageStart?: number) => void} cb  the last page that begins at or before the seq; below 0
 *   when all begin after it
 */
function findPage (store, seq, cb) {
  const { rules: { shift, hasGaps }, end } = store
  const physical = seq - shift
  if (physical < HEAD_SIZE || end <= HEAD_SIZE) return cb(null, -1)
  const last = Math.max(HEAD_SIZE, Math.min(physical, end - 1))
  const lastPage = last - last % PAGE_SIZE
  if (!hasGaps) return cb(null, lastPage)
  // Gaps move records towards the start of the file, never away from it.
  bisect(store, seq, HEAD_SIZE, lastPage, cb)
}

/**
 * @param {CheckedStore} store
 * @param {number} seq
 * @param {number} low  a page that begins at or before the seq
 * @param {number} high  the last page to look at
 * @param {(err: Error | null, pageStart?: number) => void} cb
 */
function bisect (store, seq, low, high, cb) {
  if (low === high) return cb(null, low)
  const pageCount = (high - low) / PAGE_SIZE
  const middle = low + Math.ceil(pageCount / 2) * PAGE_SIZE
  store.pages.read(middle, (err, page) => {
    if (err || !page) return cb(err)
    const { bytes, offset } = page
    const header = new ChunkHeader()
    readChunkHeader(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), offset, header)
    // A page may begin at positions that the record before it has too: what counts is its first frame.
    if (header.firstSeq <= seq) bisect(store, seq, middle, high, cb)
    else bisect(store, seq, low, middle - PAGE_SIZE, cb)
  })
}

exports.findPage = findPage
