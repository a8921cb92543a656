'use strict'
// The stores that single records are got from. Keys are the indexes of records: each store finds its own for them.

const { createRequire } = require('node:module')
const { OffsetLog } = require('@millrace/offset-log')
const { BLOCK_SIZE } = require('./scan-log')

/** @typedef {import('./get-row').Getter} Getter */
/** @typedef {import('@millrace/offset-log').Chunk} Chunk */

// These have no types, or need not be there.
const load = createRequire(__filename)

// A fifth of the log of the bench, and what flumelog-offset keeps of blocks of 64 KiB at the least.
const CACHE_SIZE = 64 * 1024 * 1024

/**
 * @param {string} path
 * @param {{ cache?: number }} [options]
 * @returns {Promise<Getter>}
 */
async function openMillraceGetter (path, { cache = CACHE_SIZE } = {}) {
  const seqs = await listSeqs(path)
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r', cache })
  await log.ready()
  return {
    count: seqs.length,
    get: (index, cb) => { log.get(seqs[index], cb) },
    close: () => /** @type {Promise<any>} */ (log.close())
  }
}

/**
 * @param {string} path
 * @returns {Promise<Getter>}
 */
async function openFlumelogGetter (path) {
  const seqs = await listSeqs(path)
  const log = load('flumelog-offset')(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  await new Promise((resolve) => { log.since.once(resolve) })
  return { count: seqs.length, get: (index, cb) => log.get(seqs[index], cb), close: async () => {} }
}

/**
 * @param {string} file  made by `fillLmdb`
 * @returns {Promise<Getter>}
 */
async function openLmdbGetter (file) {
  const database = openLmdb(file, { readOnly: true })
  return {
    count: database.getCount(),
    get: (index, cb) => cb(null, database.get(index)),
    close: () => database.close()
  }
}

/**
 * @param {string} file
 * @param {string} path  of the log that it is filled from
 */
async function fillLmdb (file, path) {
  const database = openLmdb(file, { noSync: true })
  let index = 0
  const log = OffsetLog(path, { flags: 'r' })
  await log.scan({}, (/** @type {Chunk} */ { buffer, count, starts, ends }) => {
    database.transactionSync(() => {
      for (let at = 0; at < count; at++) database.put(index++, Buffer.from(buffer.subarray(starts[at], ends[at])))
    })
  })
  await log.close()
  await database.close()
}

/**
 * @param {string} file
 * @param {object} options
 */
function openLmdb (file, options) {
  return load('lmdb').open({ path: file, keyEncoding: 'uint32', encoding: 'binary', ...options })
}

/**
 * @param {string} path
 * @returns {Promise<Getter>}  of Buffers in a Map, by their seqs
 */
async function openMapGetter (path) {
  /** @type {Map<number, Buffer>} */
  const map = new Map()
  const log = OffsetLog(path, { flags: 'r' })
  await log.scan({}, (/** @type {Chunk} */ { buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) {
      map.set(seqs[index], Buffer.from(buffer.subarray(starts[index], ends[index])))
    }
  })
  await log.close()
  const seqs = Float64Array.from(map.keys())
  return { count: seqs.length, get: (index, cb) => cb(null, map.get(seqs[index])), close: async () => {} }
}

/**
 * @param {string} path
 * @returns {Promise<Float64Array>}
 */
async function listSeqs (path) {
  /** @type {Float64Array[]} */
  const parts = []
  const log = OffsetLog(path, { flags: 'r' })
  await log.scan({}, (/** @type {Chunk} */ { count, seqs }) => { parts.push(seqs.slice(0, count)) })
  await log.close()
  return Float64Array.from(parts.flatMap((part) => Array.from(part)))
}

exports.openMillraceGetter = openMillraceGetter
exports.openFlumelogGetter = openFlumelogGetter
exports.openLmdbGetter = openLmdbGetter
exports.openMapGetter = openMapGetter
exports.fillLmdb = fillLmdb
