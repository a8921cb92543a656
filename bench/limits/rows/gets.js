'use strict'
// Single records, picked at random from the log of the bench. Keys are the indexes of records: each store finds its
// own.

const { OffsetLog } = require('@millrace/offset-log')
const createFlumelog = require('flumelog-offset')
const { runPipeline } = require('../../lib/pipeline')
const { createPrng } = require('../../lib/prng')
const { BLOCK_SIZE, openRecords } = require('../../lib/readers')
const { ByteTally } = require('../../lib/tally')
const { openStore } = require('../../stores')
const { toBatches } = require('../../stores/appends')
const { time } = require('../runners')
const { lmdb, readsPath, toRows } = require('./shared')

/**
 * @typedef {object} Getter
 * @property {number} count  of the records that there are
 * @property {(index: number, cb: (err: any, value?: any) => void) => void} get  the record at an index
 * @property {() => Promise<void>} close
 */

const GETS = 20000
const IN_FLIGHT = 16
const SEED = 16
const EVERY = 100
// A fifth of the log of the bench, and what flumelog-offset keeps of blocks of 64 KiB at the least.
const CACHE_SIZE = 64 * 1024 * 1024
// More than the log: all of it is there after the first samples.
const WHOLE_CACHE_SIZE = 400 * 1024 * 1024
const FILL_COUNT = 1000

exports.parts = toRows([
  ['get-flumelog', 'get at random : flumelog-offset', { faster: 10, samples: 5 }, readsPath('json', 'offset32'),
    ({ path }) => timeGets(openMillrace(path)), ({ path }) => timeGets(openFlumelog(path))],
  // Beside a tree whose pages are the page cache itself.
  ['get-lmdb', 'get at random : LMDB', { faster: 1.1, samples: 5, needs: lmdb }, prepareLmdb,
    ({ log }) => timeGets(openMillrace(log)), ({ log, folder }) => timeGets(openLmdb(folder, log))],
  ['get-checked', 'get at random, verified : flumelog-offset', { faster: 3.5, samples: 5 }, prepareChecked,
    ({ checked }) => timeGets(openMillrace(checked)), ({ old }) => timeGets(openFlumelog(old))],
  // The cache hands out copies.
  ['get-cache', 'get from the cache : a Map of Buffers', { faster: 0.25, samples: 5 }, readsPath('json', 'offset32'),
    ({ path }) => timeGets(openMillrace(path, WHOLE_CACHE_SIZE)), ({ path }) => timeGets(openMap(path))]
])

/** @param {import('./shared').Context} context */
async function prepareChecked ({ findLog }) {
  return { checked: (await findLog('json', 'checked')).path, old: (await findLog('json', 'offset32')).path }
}

/** @param {import('./shared').Context} context */
async function prepareLmdb ({ findLog, folder }) {
  const { path: log } = await findLog('json', 'offset32')
  const store = await openStore('lmdb', folder, 'append')
  /** @type {Buffer[]} */
  const records = []
  await eachRecord(log, (seq, record) => records.push(record))
  for (const batch of toBatches(records, FILL_COUNT)) store.append(batch, () => {})
  await store.close()
  return { log, folder }
}

/**
 * Every sample picks others, so that a cache has not seen them; both sides pick the same.
 * @param {Promise<Getter>} opening
 * @returns {Promise<import('../runners').Runner>}
 */
async function timeGets (opening) {
  const { count, get, close } = await opening
  const { below } = createPrng(SEED)
  let [records, delivered] = [0, 0]
  return {
    sample () {
      const picks = Uint32Array.from({ length: GETS }, () => below(count))
      return time(() => runPipeline(GETS, IN_FLIGHT, (index, cb) => get(picks[index], (err, value) => {
        if (err) return cb(err)
        records++
        delivered += value.length
        cb(null)
      })))
    },
    async finish () {
      const tally = new ByteTally({ every: 1 })
      await runPipeline(GETS / EVERY, 1, (turn, cb) => {
        const index = below(count)
        get(index, (err, value) => {
          if (!err) tally.visit(index, value, 0, value.length)
          cb(err)
        })
      })
      await close()
      const { digest, seqSum } = tally.result()
      return { records, delivered, digest, seqSum }
    }
  }
}

/**
 * @param {string} path
 * @param {number} [cache]
 * @returns {Promise<Getter>}
 */
async function openMillrace (path, cache = CACHE_SIZE) {
  const seqs = await listSeqs(path)
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r', cache })
  await log.ready()
  const get = (/** @type {number} */ index, /** @type {any} */ cb) => { log.get(seqs[index], cb) }
  return { count: seqs.length, get, close: async () => { await log.close() } }
}

/**
 * @param {string} path
 * @returns {Promise<Getter>}
 */
async function openFlumelog (path) {
  const seqs = await listSeqs(path)
  /** @type {any} */
  const log = createFlumelog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  await new Promise((resolve) => { log.since.once(resolve) })
  return { count: seqs.length, get: (index, cb) => log.get(seqs[index], cb), close: async () => {} }
}

/**
 * @param {string} folder
 * @param {string} path  of the log that it was filled from
 * @returns {Promise<Getter>}
 */
async function openLmdb (folder, path) {
  const { length } = await listSeqs(path)
  const { get = () => {}, close } = await openStore('lmdb', folder, 'read')
  return { count: length, get, close }
}

/**
 * @param {string} path
 * @returns {Promise<Getter>}  of Buffers in a Map, by their seqs
 */
async function openMap (path) {
  /** @type {Map<number, Buffer>} */
  const map = new Map()
  await eachRecord(path, (seq, record) => map.set(seq, record))
  const seqs = Float64Array.from(map.keys())
  return { count: seqs.length, get: (index, cb) => cb(null, map.get(seqs[index])), close: async () => {} }
}

/**
 * @param {string} path
 * @param {(seq: number, record: Buffer) => void} visit  a copy
 */
async function eachRecord (path, visit) {
  const { run, close } = await openRecords(path)
  await run((seq, buf, start, end) => visit(seq, Buffer.from(buf.subarray(start, end))))
  await close()
}

/**
 * @param {string} path
 * @returns {Promise<Float64Array>}
 */
async function listSeqs (path) {
  /** @type {number[]} */
  const all = []
  const { run, close } = await openRecords(path)
  await run((seq) => all.push(seq))
  await close()
  return Float64Array.from(all)
}
