'use strict'
// Rows about single records, picked at random from the log of the bench.

const { findLog } = require('../../../engine/inputs')
const { Tally, call, runPipeline, time } = require('../../../lib/measure')
const { createPrng } = require('../../../lib/prng')
const { listRecords, toRecord, toSeq } = require('../../../lib/readers')
const { appendAll, openStore } = require('../../../stores')
const { openOffset } = require('../../../stores/flume')
const { openMillrace } = require('../../../stores/millrace')
const { needs, readsPath, toRow } = require('../shared')

const GETS = 20000
const IN_FLIGHT = 16
const SEED = 16
const EVERY = 100
// A fifth of the log. flumelog-offset keeps at least this much with blocks of 64 KiB.
const CACHE_SIZE = 64 * 1024 * 1024
// Larger than the log, so everything is cached after the first samples.
const WHOLE_CACHE_SIZE = 400 * 1024 * 1024
const FILL_COUNT = 1000

/** @typedef {Required<Pick<import('../../../stores').Store, 'get'>>} Getter */

/** @param {string} path */
const inMillrace = (path, cache = CACHE_SIZE) => timeGets(path, openMillrace(path, { flags: 'r', cache }))
/** @param {string} path */
const inFlumelog = (path) => timeGets(path, openOffset(path, { flags: 'r' }))

exports.parts = [
  toRow('get-flumelog', 'get at random : flumelog-offset', { times: 10, samples: 5 }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => inMillrace(path), 'flumelog-offset': ({ path }) => inFlumelog(path) }),
  // A tree whose pages are the page cache itself.
  toRow('get-lmdb', 'get at random : LMDB', { times: 1.1, samples: 5, needs: needs.lmdb }, prepareLmdb,
    { millrace: ({ log }) => inMillrace(log), lmdb: ({ log, filled }) => timeGets(log, openStore('lmdb', filled, 'read'), true) }),
  toRow('get-checked', 'get at random, verified : flumelog-offset', { times: 3.5, samples: 5 }, async (context) => ({
    checked: await findLog(context, { log: 'json', framing: 'checked' }), old: await findLog(context, { log: 'json', framing: 'offset32' })
  }), { millrace: ({ checked }) => inMillrace(checked), 'flumelog-offset': ({ old }) => inFlumelog(old) }),
  // The cache gives out copies; the Map gives out its own Buffers.
  toRow('get-cache', 'get from the cache : a Map of Buffers', { times: 0.25, samples: 5 }, readsPath('json', 'offset32'),
    { millrace: ({ path }) => inMillrace(path, WHOLE_CACHE_SIZE), map: ({ path }) => timeGets(path, openMap(path)) })
]

/** @param {import('../../../engine/row').Context} context */
async function prepareLmdb (context) {
  const { folder } = context
  const log = await findLog(context, { log: 'json', framing: 'offset32' })
  const store = await openStore('lmdb', folder, 'append')
  await appendAll(store, await listRecords(log, toRecord), FILL_COUNT)
  await store.close()
  return { log, filled: folder }
}

/**
 * Every sample picks other records, so that no cache has seen them. Both sides pick the same ones.
 * @param {string} path  of the log that has the records
 * @param {Promise<Pick<import('../../../stores').Store, 'get'>>} opening
 * @param {boolean} [isCounted]  whether the keys are 0, 1, 2, ..., instead of seqs
 * @returns {Promise<import('../runners').Runner>}
 */
async function timeGets (path, opening, isCounted = false) {
  const keys = Float64Array.from(await listRecords(path, toSeq), (seq, index) => isCounted ? index : seq)
  const { get } = /** @type {Getter} */ (await opening)
  const { below } = createPrng(SEED)
  let [records, delivered] = [0, 0]
  return {
    sample () {
      const picks = Uint32Array.from({ length: GETS }, () => below(keys.length))
      return time(() => runPipeline(GETS, IN_FLIGHT, (index, cb) => get(keys[picks[index]], (err, value) => {
        if (err || value === undefined) return cb(err ?? new Error(`there is no record ${picks[index]}`))
        records++
        delivered += value.length
        cb(null)
      })))
    },
    async finish () {
      const tally = new Tally({ every: 1 })
      for (let left = GETS / EVERY; left > 0; left--) {
        const index = below(keys.length)
        const value = await call((cb) => get(keys[index], cb))
        tally.visit(index, value, 0, value.length)
      }
      const { digest, seqSum } = tally.result()
      return { records, delivered, digest, seqSum }
    }
  }
}

/** Keeps the records in a Map, by seq. @type {(path: string) => Promise<Getter>} */
async function openMap (path) {
  const map = new Map(await listRecords(path, (seq, buf, start, end) => [seq, toRecord(seq, buf, start, end)]))
  return { get: (key, cb) => cb(null, map.get(key)) }
}
