'use strict'
// How long each call takes, where the slowest calls matter: appends that wait for the disk, appends beside the sync of
// each second, delivery to a live stream, and single reads.

const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const pull = require('pull-stream')
const { OffsetLog } = require('@millrace/offset-log')
const { describeTimes, figures } = require('../../engine/tail')
const { call } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { BLOCK_SIZE, identity } = require('../../lib/readers')
const { appendAll, openStore } = require('../../stores')

const SECONDS = 3
const WARM_COUNT = 2000
const RECORD_SIZE = 690
const SEED = 35
const FILL_COUNT = 100_000
const BATCH_COUNT = 1000
// A program that appends 50 records of 1 KB every millisecond.
const LOAD = { records: 50, size: 1000, everyMs: 1 }

/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {Required<import('../../stores').Store>} Store */
/** @typedef {(order: { side: any, folder: string }) => Promise<number[]>} Take  us */

const us = (/** @type {number} */ began) => 1000 * (performance.now() - began)
const record = (/** @type {number} */ size, /** @type {number} */ n) => Buffer.alloc(size, `${n} of the records `)

/** One append after the other, each durable. @type {Take} */
async function timeSynced ({ side, folder }) {
  const { appendOne, close } = /** @type {Store} */ (await openStore(side.store, folder, 'durable'))
  const times = await timeUntil(SECONDS, (n) => call((cb) => appendOne(record(RECORD_SIZE, n), cb)))
  await close()
  return times
}

/**
 * @param {number} seconds
 * @param {(n: number) => Promise<unknown>} work
 * @returns {Promise<number[]>}  us, without the first calls, which compile the code
 */
async function timeUntil (seconds, work) {
  for (let n = 0; n < WARM_COUNT; n++) await work(n)
  /** @type {number[]} */
  const times = []
  for (const end = performance.now() + 1000 * seconds; performance.now() < end;) {
    const began = performance.now()
    await work(times.length)
    times.push(us(began))
  }
  return times
}

/**
 * A steady load, while the log syncs every second, or never: how long each append waits for its answer.
 * @type {Take}
 */
async function timeLoad ({ side, folder }) {
  const log = OffsetLog(path.join(folder, 'log'), side)
  await log.ready()
  const records = Array.from({ length: LOAD.records }, (_, n) => record(LOAD.size, n))
  /** @type {number[]} */
  const times = []
  /** @type {Promise<unknown>[]} */
  const answers = []
  const started = performance.now()
  // In time with the clock: an append that waits must not make the next one late.
  for (let turn = 0; turn * LOAD.everyMs < 1000 * SECONDS; turn++) {
    while (performance.now() < started + turn * LOAD.everyMs) await wait(0)
    const due = started + turn * LOAD.everyMs
    answers.push(log.append(records).then(() => { times.push(us(due)) }))
  }
  await Promise.all(answers)
  await log.close()
  return times.slice(WARM_COUNT / 10)
}

/** From the call of an append until a live stream delivers the record. @type {Take} */
async function timeLive ({ side, folder }) {
  const log = side.open(path.join(folder, 'log'))
  /** @type {() => void} */
  let onItem = () => {}
  await new Promise((resolve) => log.since.once(resolve))
  pull(log.stream({ live: true, gt: -1 }), pull.drain(() => onItem(), () => {}))
  const times = await timeUntil(SECONDS, (n) => new Promise((resolve, reject) => {
    onItem = () => resolve(undefined)
    log.append(record(RECORD_SIZE, n), (/** @type {any} */ err) => { if (err) reject(err) })
  }))
  if (log.close) await new Promise((resolve) => log.close(resolve))
  return times
}

/** One record after the other, at random, of a store that was filled in the same process. @type {Take} */
async function timeGets ({ side, folder }) {
  const store = await openStore(side.store, folder, 'append')
  await appendAll(store, Array.from({ length: FILL_COUNT }, (_, n) => record(RECORD_SIZE, n)), BATCH_COUNT)
  const keys = await store.listKeys?.() ?? Array.from({ length: FILL_COUNT }, (_, n) => n)
  const { below } = createPrng(SEED)
  const { get } = /** @type {Store} */ (store)
  const times = await timeUntil(SECONDS, () => new Promise((resolve, reject) => {
    get(keys[below(keys.length)], (err, found) => err || found === undefined ? reject(err ?? new Error('a record is missing')) : resolve(found))
  }))
  await store.close()
  return times
}

const unsynced = (/** @type {string} */ file) => OffsetLog(file, { fsync: 'never' })
const flumelog = (/** @type {string} */ file) => require('flumelog-offset')(file, { blockSize: BLOCK_SIZE, codec: identity })

/** @type {(name: string, what: string, take: Take, peers: Row['peers']) => Row} */
const toRow = (name, what, take, peers) => {
  return { name, what, peers, figures, measure: async (order) => describeTimes(await take(order)) }
}

/** @type {Row[]} */
exports.parts = [
  toRow('synced', 'append, one after the other, each on the disk', timeSynced, { millrace: { store: 'checked' }, sqlite: { store: 'sqlite' } }),
  toRow('interval', '50 records of 1 KB every millisecond, synced each second', timeLoad,
    { millrace: { fsync: 'interval' }, 'millrace-never': { fsync: 'never' } }),
  toRow('live', 'from append to the live stream', timeLive, { millrace: { open: unsynced }, flumelog: { open: flumelog } }),
  toRow('get', 'one record of 100,000 at random, by its key', timeGets,
    { millrace: { store: 'checked' }, sqlite: { store: 'sqlite' }, lmdb: { store: 'lmdb' }, flumelog: { store: 'flumelog-offset' } })
]
