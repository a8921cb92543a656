'use strict'
// A number that stands for a line of a text file and all bytes before it. It is made of the checksums of the pages: the
// table beside the log has most of them, and of the newest ones a writer knows what it has written. Those of pages that
// another program has written are computed, once.

const { promisesOf, toPromise } = require('@millrace/flow')
const { SUMMED_SIZE, countPages, crc32, encodePages } = require('@millrace/framing')
const { readLine } = require('./lines-record')
const { CHUNK_PAGES } = require('./page-sums')

/** @typedef {import('../lines-store').LinesStore} LinesStore */
/** @typedef {{ crc: number, size: number }} Part  the checksum of a page's first bytes, and how many these are */

/**
 * @type {(store: LinesStore, seq: number) => Promise<number | null>}  null if another program has changed the pages of
 *   the line since the log has written them
 * @throws {LogError} ERR_RECORD_NOT_FOUND
 */
async function proveLine (store, seq) {
  const { data } = await toPromise((cb) => readLine(store, seq, cb))
  const first = countPages(seq)
  let crc = 0
  for (let page = 0; page < first;) {
    await loadSums(store, page)
    /** @type {number[]} */
    const crcs = []
    for (const end = Math.min(first, page + CHUNK_PAGES); page < end; page++) {
      crcs.push(partOf(store, page)?.crc || store.computedSums.get(page) || await computeSum(store, page))
    }
    crc = crc32(encodePages(crcs), crc)
  }
  const lineEnd = seq + data.length
  const start = first * SUMMED_SIZE
  const count = countPages(lineEnd) + 1 - first
  for (let page = first; page < first + count; page += CHUNK_PAGES) await loadSums(store, page)
  // More may be appended while it is read.
  const parts = Array.from({ length: count }, (_, index) => partOf(store, first + index))
  const end = Math.max(lineEnd, start + (count - 1) * SUMMED_SIZE + (parts[count - 1]?.size ?? 0))
  const bytes = await promisesOf(store.blocks).read(start, end)
  const isOwn = parts.every((part, index) => {
    const at = index * SUMMED_SIZE
    return part === null || crc32(bytes.subarray(at, at + part.size)) === part.crc
  })
  return isOwn ? crc32(bytes.subarray(0, lineEnd - start), crc) : null
}

/** @type {(store: LinesStore, page: number) => Promise<void>} */
async function loadSums ({ pages }, page) {
  const start = page * SUMMED_SIZE
  if (pages !== null) await toPromise((cb) => pages.load(start, start, cb))
}

/**
 * What the log has written into a page; null if that is unknown. Call it after `loadSums`.
 * @type {(store: LinesStore, page: number) => Part | null}
 */
function partOf ({ pages, sums }, page) {
  const newest = sums?.recall(page)
  if (newest) return newest
  const crc = pages?.sumOf(page)
  return crc ? { crc, size: SUMMED_SIZE } : null
}

/** @type {(store: LinesStore, page: number) => Promise<number>} */
async function computeSum ({ blocks, computedSums }, page) {
  const start = page * SUMMED_SIZE
  const crc = crc32(await promisesOf(blocks).read(start, start + SUMMED_SIZE))
  computedSums.set(page, crc)
  return crc
}

exports.proveLine = proveLine
