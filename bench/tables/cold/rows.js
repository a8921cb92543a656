'use strict'
// Reads of a log that is not in the page cache, by block size. All read the same file, in the format of
// flumelog-offset.

const fs = require('node:fs')
const { findLog } = require('../../engine/inputs')
const { Tally, call, time } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { SECTION_SIZE, openAlignedBlocks, openBlocks, openFlumelog, openRecords } = require('../../lib/readers')
const { NO_WAY, WAYS, countDiskBytes, findWay, isCold } = require('./ways')

const PAGE_SIZE = 4096
const SECTION_COUNT = 2000
const SEED = 35

/** @typedef {import('../../lib/readers').Reader<any>} Reader */
/** @typedef {{ open: (file: string, options: { blockSize: number }) => Promise<Reader>, isBare?: boolean }} Side */

/** Sections at random, each of a page of its own. @param {string} file @returns {number[]} */
function listSections (file) {
  const pages = Math.floor(fs.statSync(file).size / PAGE_SIZE)
  const { below } = createPrng(SEED)
  /** @type {Set<number>} */
  const chosen = new Set()
  while (chosen.size < Math.min(SECTION_COUNT, pages >> 1)) chosen.add(below(pages))
  return [...chosen].map((page) => page * PAGE_SIZE + SECTION_SIZE * below(PAGE_SIZE / SECTION_SIZE))
}

/**
 * @param {(file: string, options: { blockSize: number }) => Promise<Reader & { file: any }>} open
 * @returns {Side['open']}
 */
const atRandom = (open) => async (path, options) => {
  const { file, close } = await open(path, options)
  const starts = listSections(path)
  return {
    close,
    async run (visit) {
      for (const start of starts) {
        visit(start, await call((cb) => file.read(start, start + SECTION_SIZE, cb)), 0, SECTION_SIZE)
      }
    }
  }
}

/**
 * Every block, into one buffer; a section needs its whole block, for there is no cache.
 * @type {(path: string, options: { blockSize: number }) => Promise<Reader & { file: any }>}
 */
async function openLoop (path, { blockSize }) {
  const [fd, buf] = [fs.openSync(path, 'r'), Buffer.alloc(blockSize)]
  const readAt = (/** @type {number} */ start) => fs.readSync(fd, buf, 0, blockSize, start)
  return {
    file: {
      read (/** @type {number} */ start, /** @type {number} */ _, /** @type {any} */ cb) {
        readAt(start - start % blockSize)
        cb(null, buf.subarray(start % blockSize))
      }
    },
    async run (visit) {
      for (let start = 0, length; (length = readAt(start)) > 0; start += length) visit(start, buf, 0, length)
    },
    close: async () => fs.closeSync(fd)
  }
}

/** @type {(path: string, options: { blockSize: number }) => ReturnType<typeof openAlignedBlocks>} */
const openAligned = (path, { blockSize }) => openAlignedBlocks(path, blockSize)

/**
 * What opens the file may read some of it: that is from the disk, too, but before the clock starts.
 * @type {(order: any) => Promise<import('../../engine/row').Reading>}
 */
async function measureCold ({ row, side, at, setting: { file, way } }) {
  WAYS[way]?.run(file)
  const before = countDiskBytes()
  const reader = await side.open(file, { blockSize: at })
  const tally = new Tally({ every: 1000 })
  const ms = await time(() => reader.run(tally.visit.bind(tally)))
  const fromDisk = countDiskBytes() - before
  await reader.close()
  const least = row.isRandom ? PAGE_SIZE * tally.records : fs.statSync(file).size
  if (!isCold(fromDisk, least)) throw new Error(`the file was not cold: ${fromDisk} of ${least} bytes came from the disk`)
  const answers = { 'made cold': { by: WAYS[way].name }, ...!side.isBare && { [`at ${at}`]: { ...tally.result() } } }
  return { figures: { ms, from_disk: fromDisk, least, way }, answers }
}

/** @param {import('../../engine/row').Context} context */
async function prepareCold (context) {
  const file = await findLog(context, { log: 'json', framing: 'offset32' })
  const way = context.once('way', () => findWay(file))
  return way < 0 ? { absent: NO_WAY } : { file, way }
}

/** @typedef {import('../../engine/row').Row & { isRandom?: boolean }} ColdRow */
/** @type {(name: string, what: string, peers: Record<string, Side>, isRandom?: boolean) => ColdRow} */
const toRow = (name, what, peers, isRandom) => ({
  name,
  what: `${what}, not in the page cache`,
  peers,
  isRandom,
  at: [4, 16, 64, 256].map((size) => size * 1024),
  figures: [{ figure: 'ms', unit: 'ms' }],
  prepare: prepareCold,
  measure: measureCold
})

/** @type {ColdRow[]} */
exports.parts = [
  toRow('file', 'every block', {
    millrace: { open: openBlocks }, loop: { open: openLoop }, flumelog: { open: openAligned }
  }),
  toRow('log', 'every record, by scan or stream', {
    millrace: { open: openRecords },
    // It reads blocks, and knows of no records.
    loop: { open: openLoop, isBare: true },
    flumelog: { open: (file, options) => openFlumelog(file, options) }
  }),
  toRow('blocks', `${SECTION_COUNT} sections of 1 KiB at random`, {
    millrace: { open: atRandom(openBlocks) },
    loop: { open: atRandom(openLoop) },
    flumelog: { open: atRandom(openAligned) }
  }, true)
]
