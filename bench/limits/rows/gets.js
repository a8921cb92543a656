'use strict'
// Single records, picked at random from the log of the bench. Keys are the indexes of records: each store finds its
// own.

const { OffsetLog } = require('@millrace/offset-log')
const createFlumelog = require('flumelog-offset')
const { runPipeline } = require('../../lib/pipeline')
const { createPrng } = require('../../lib/prng')
const { BLOCK_SIZE, listRecords, toRecord, toSeq } = require('../../lib/readers')
const { Tally } = require('../../lib/tally')
const { openStore } = require('../../stores')
const { toBatches } = require('../../stores/appends')
const { time } = require('../runners')
const { lmdb, readsPath, toRows } = require('./shared')

/**
 * @typedef {object} Getter
 * @property {number} count  of the records that there are
 * @property {(index: number, cb: (err: any, value?: any) => void) => void} get  the record at an index
 * @property {() => Promise<unknown>} close
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
  ['get-checked', 'get at random, verified : flumelog-offset', { faster: 3.5, samples: 5 },
    async ({ findLog }) => ({ checked: (await findLog('json', 'checked')).path, old: (await findLog('json', 'offset32')).path }),
    ({ checked }) => timeGets(openMillrace(checked)), ({ old }) => timeGets(openFlumelog(old))],
  // The cache hands out copies.
  ['get-cache', 'get from the cache : a Map of Buffers', { faster: 0.25, samples: 5 }, readsPath('json', 'offset32'),
    ({ path }) => timeGets(openMillrace(path, WHOLE_CACHE_SIZE)), ({ path }) => timeGets(openMap(path))]
])

/** @param {import('./shared').Context} context */
async function prepareLmdb ({ findLog, folder }) {
  const { path: log } = await findLog('json', 'offset32')
  const store = await openStore('lmdb', folder, 'append')
  for (const batch of toBatches(await listRecords(log, toRecord), FILL_COUNT)) store.append(batch, () => {})
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
      const tally = new Tally({ every: 1 })
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
  return { count: seqs.length, get: (index, cb) => { log.get(seqs[index], cb) }, close: () => log.close() }
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
  const { length: count } = await listSeqs(path)
  const { get = () => {}, close } = await openStore('lmdb', folder, 'read')
  return { count, get, close }
}

/**
 * @param {string} path
 * @returns {Promise<Getter>}  of Buffers in a Map, by their seqs
 */
async function openMap (path) {
  const seqs = await listSeqs(path)
  const map = new Map((await listRecords(path, toRecord)).map((record, index) => [seqs[index], record]))
  return { count: seqs.length, get: (index, cb) => cb(null, map.get(seqs[index])), close: async () => {} }
}

/** @param {string} path */
async function listSeqs (path) {
  return Float64Array.from(await listRecords(path, toSeq))
}
