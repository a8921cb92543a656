'use strict'
// Where a checked log can be cut in two, to be read by two threads: at a page, between two records. What is read for it
// is not verified: who reads up to the cut must say whether it is one.

const { trampoline } = require('@millrace/flow')
const { ChunkHeader, readChunkHeader } = require('./chunk-header')
const { CHUNK_HEADER_SIZE, PAGE_SIZE } = require('./layout')

// Pages that do nothing but go on with a record have no place for a cut. Not more are looked at than this: 16 MiB.
const PAGE_COUNT_MAX = 1024

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('../../log-file').Cut} Cut
 */

/**
 * @param {CheckedStore} store
 * @param {number} from  physical
 * @param {number} limit  physical
 * @param {(err: Error | null, cut?: Cut | null) => void} cb  the first one between the two, or not far behind the first
 */
function findCut (store, from, limit, cb) {
  let page = Math.ceil(from / PAGE_SIZE) * PAGE_SIZE
  const last = Math.min(limit, page + PAGE_COUNT_MAX * PAGE_SIZE) - PAGE_SIZE
  trampoline((next) => {
    if (page > last) return cb(null, null)
    readCut(store, page, (err, seq = null) => {
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
function readCut ({ blocks }, page, cb) {
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

exports.findCut = findCut
exports.readCut = readCut
