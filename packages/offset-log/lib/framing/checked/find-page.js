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
  const { rules: { shift, hasGaps }, tail, end } = store
  const physical = seq - shift
  if (physical < HEAD_SIZE || end <= HEAD_SIZE) return cb(null, -1)
  const last = Math.max(HEAD_SIZE, Math.min(physical, end - 1))
  const lastPage = last - last % PAGE_SIZE
  if (!hasGaps && tail.shift === shift) return cb(null, lastPage)
  // Gaps and jumps move records towards the start of the file, never away from it; jumps no further than at its end.
  const least = hasGaps ? HEAD_SIZE : Math.max(HEAD_SIZE, seq - tail.shift)
  const firstPage = Math.min(lastPage, least - least % PAGE_SIZE)
  // Nearly always it is the last one that it can be, where nothing is left out; or the first, behind the last jump.
  readFirstHeader(store, lastPage, (err, header) => {
    if (!header) return lastPage === HEAD_SIZE ? cb(err) : bisect(store, seq, HEAD_SIZE, lastPage, cb)
    if (header.firstSeq <= seq) return cb(null, lastPage)
    if (firstPage === HEAD_SIZE) return bisect(store, seq, HEAD_SIZE, lastPage - PAGE_SIZE, cb)
    readFirstHeader(store, firstPage, (err, header) => {
      if (!header) return cb(err)
      const isBehind = header.firstSeq > seq
      const isLastJump = header.position - firstPage === tail.shift
      if (isBehind || isLastJump) return cb(null, isBehind ? firstPage - PAGE_SIZE : firstPage)
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

exports.findPage = findPage
