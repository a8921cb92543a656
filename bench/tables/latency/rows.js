'use strict'
// How long each call takes, where the slowest calls matter: appends that wait for the disk, appends beside the sync of
// each second, delivery to a live stream, and single reads.

const path = require('node:path')
const { setTimeout: wait } = require('node:timers/promises')
const pull = require('pull-stream')
const { OffsetLog } = require('@millrace/offset-log')
const { describeTimes, figures } = require('../../engine/tail')
const { createPrng } = require('../../lib/prng')
const { appendAll, openStore } = require('../../stores')

const SECONDS = 3
const WARM_COUNT = 2000
const RECORD_SIZE = 690
const BLOCK_SIZE = 64 * 1024
const SEED = 35
const FILL_COUNT = 100_000
const BATCH_COUNT = 1000
// A program that appends 50 records of 1 KB every millisecond.
const LOAD = { records: 50, size: 1000, everyMs: 1 }

/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../../stores').Store} Store */

const us = (/** @type {number} */ began) => 1000 * (performance.now() - began)
const record = (/** @type {number} */ size, /** @type {number} */ n) => Buffer.alloc(size, `${n} of the records `)

/** One append after the other, each durable. @type {Row['measure']} */
async function timeSynced ({ side, folder }) {
  const store = await openStore(side.store, folder, 'durable')
  const append = (/** @type {number} */ n) => new Promise((resolve, reject) => {
    const { appendOne } = /** @type {Required<Store>} */ (store)
    appendOne(record(RECORD_SIZE, n), (err) => err ? reject(err) : resolve(undefined))
  })
  const times = await timeUntil(SECONDS, append)
  await store.close()
  return describeTimes(times)
}

/**
 * @param {number} seconds
 * @param {(n: number) => Promise<unknown>} call
 * @returns {Promise<number[]>}  us, without the first calls, which compile the code
 */
async function timeUntil (seconds, call) {
  for (let n = 0; n < WARM_COUNT; n++) await call(n)
  /** @type {number[]} */
  const times = []
  for (const end = performance.now() + 1000 * seconds; performance.now() < end;) {
    const began = performance.now()
    await call(times.length)
    times.push(us(began))
  }
  return times
}

/**
 * A steady load, while the log syncs every second, or never: how long each append waits for its answer.
 * @type {Row['measure']}
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
  return describeTimes(times.slice(WARM_COUNT / 10))
}

/** From the call of an append until a live stream delivers the record. @type {Row['measure']} */
async function timeLive ({ side, folder }) {
  const log = side.open(path.join(folder, 'log'))
  /** @type {() => void} */
  let onItem = () => {}
  const begun = new Promise((resolve) => log.since.once(resolve))
  await begun
  pull(log.stream({ live: true, gt: -1 }), pull.drain(() => onItem(), () => {}))
  const times = await timeUntil(SECONDS, (n) => new Promise((resolve, reject) => {
    onItem = () => resolve(undefined)
    log.append(record(RECORD_SIZE, n), (/** @type {any} */ err) => { if (err) reject(err) })
  }))
  if (log.close) await new Promise((resolve) => log.close(resolve))
  return describeTimes(times)
}

/** One record after the other, at random, of a store that was filled in the same process. @type {Row['measure']} */
async function timeGets ({ side, folder }) {
  const store = await openStore(side.store, folder, 'append')
  await appendAll(store, Array.from({ length: FILL_COUNT }, (_, n) => record(RECORD_SIZE, n)), BATCH_COUNT)
  const keys = await store.listKeys?.() ?? Array.from({ length: FILL_COUNT }, (_, n) => n)
  const { below } = createPrng(SEED)
  const { get } = /** @type {Required<Store>} */ (store)
  const times = await timeUntil(SECONDS, () => new Promise((resolve, reject) => {
    get(keys[below(keys.length)], (err, found) => err || found === undefined ? reject(err ?? new Error('a record is missing')) : resolve(found))
  }))
  await store.close()
  return describeTimes(times)
}

const unsynced = (/** @type {string} */ file) => OffsetLog(file, { fsync: 'never' })
const same = (/** @type {any} */ value) => value
const identity = { encode: same, decode: same, buffer: true }
const flumelog = (/** @type {string} */ file) => require('flumelog-offset')(file, { blockSize: BLOCK_SIZE, codec: identity })

/** @type {Row[]} */
exports.parts = [
  {
    name: 'synced',
    what: 'append, one after the other, each on the disk',
    peers: { millrace: { store: 'checked' }, sqlite: { store: 'sqlite' } },
    measure: timeSynced,
    figures
  },
  {
    name: 'interval',
    what: '50 records of 1 KB every millisecond, synced each second',
    peers: { millrace: { fsync: 'interval' }, 'millrace-never': { fsync: 'never' } },
    measure: timeLoad,
    figures
  },
  {
    name: 'live',
    what: 'from append to the live stream',
    peers: { millrace: { open: unsynced }, flumelog: { open: flumelog } },
    measure: timeLive,
    figures
  },
  {
    name: 'get',
    what: 'one record of 100,000 at random, by its key',
    peers: {
      millrace: { store: 'checked' }, sqlite: { store: 'sqlite' }, lmdb: { store: 'lmdb' }, flumelog: { store: 'flumelog-offset' }
    },
    measure: timeGets,
    figures
  }
]
