'use strict'
// A number that stands for a line of a text file and all bytes before it. It is made of the checksums of the pages: the
// table beside the log has most of them. Those of pages that another program has written are computed, once.

const { promisesOf, toPromise } = require('@millrace/flow')
const { SUMMED_SIZE, countPages, crc32, encodePages } = require('@millrace/framing')
const { readLine } = require('./lines-record')
const { CHUNK_PAGES } = require('./page-sums')

/** @typedef {import('../lines-store').LinesStore} LinesStore */

/**
 * @type {(store: LinesStore, seq: number) => Promise<number>}
 * @throws {LogError} ERR_RECORD_NOT_FOUND
 */
async function proveLine (store, seq) {
  const { data } = await toPromise((cb) => readLine(store, seq, cb))
  const last = countPages(seq)
  let crc = 0
  for (let page = 0; page < last;) {
    const { pages } = store
    const start = page * SUMMED_SIZE
    if (pages !== null) await toPromise((cb) => pages.load(start, start, cb))
    /** @type {number[]} */
    const crcs = []
    for (const end = Math.min(last, page + CHUNK_PAGES); page < end; page++) {
      crcs.push(pages?.sumOf(page) || store.computedSums.get(page) || await computeSum(store, page))
    }
    crc = crc32(encodePages(crcs), crc)
  }
  return crc32(await promisesOf(store.blocks).read(last * SUMMED_SIZE, seq + data.length), crc)
}

/** @type {(store: LinesStore, page: number) => Promise<number>} */
async function computeSum ({ blocks, computedSums }, page) {
  const start = page * SUMMED_SIZE
  const crc = crc32(await promisesOf(blocks).read(start, start + SUMMED_SIZE))
  computedSums.set(page, crc)
  return crc
}

exports.proveLine = proveLine
