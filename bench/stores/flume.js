'use strict'
// The logs of the flume family. All of them stream records, and have no scan, query or list of keys.

const path = require('node:path')
const { call } = require('../lib/measure')
const { BLOCK_SIZE, createSeekRoot, drain } = require('../lib/readers')

// A name that the type checker cannot follow: these have no types, or need not be there.
const load = require
// What async-append-only-log waits for more before it writes: 250 by itself, and this is the least.
const WRITE_TIMEOUT_MS = 1
const FILL_COUNT = 1_000_000

/**
 * Gives each item of a stream, which is a record, a key or both.
 * @typedef {(options: object, onItem: (item: any) => void) => Promise<void>} Drain
 */

/**
 * @param {any} log
 * @param {Drain} drain
 * @param {object} recordsOnly  the options of a stream without keys
 */
function createReads (log, drain, recordsOnly) {
  return {
    /** @type {import('./index').Store['scan']} */
    scan: (visit) => drain(recordsOnly, (record) => visit(0, record, 0, record.length)),
    queries: {
      /** @type {import('./index').Query} */
      seekKey (root, onHit) {
        const isHit = createSeekRoot(root)
        return drain(recordsOnly, (record) => { if (isHit(record)) onHit(record) })
      }
    },
    async listKeys () {
      /** @type {number[]} */
      const keys = []
      await drain({ values: false }, (key) => keys.push(key))
      return keys
    },
    get: log.get.bind(log)
  }
}

/**
 * Of a log whose streams are push-streams.
 * @param {any} log
 * @returns {Drain}
 */
function createPipeDrain (log) {
  return (options, write) => call((cb) => log.stream(options).pipe({ paused: false, ended: false, write, end: cb }))
}

/**
 * @param {string} file
 * @param {object} [options]  of the log
 */
function createOffset (file, options) {
  return load('flumelog-offset')(file, { blockSize: BLOCK_SIZE, ...options })
}

/**
 * @param {string} file
 * @param {object} [options]
 * @returns {Promise<import('./index').Store>}
 */
async function openOffset (file, options) {
  const log = createOffset(file, options)
  await new Promise((resolve) => log.since.once(resolve))
  return {
    append: (records, cb) => log.append(records.length === 1 ? records[0] : records, cb),
    ...createReads(log, (options, onItem) => drain(log.stream(options), onItem), { seqs: false }),
    close: async () => {} // It has no close.
  }
}

/** @param {string} file */
function createAligned (file) {
  return load('flumelog-aligned-offset')(file, { block: BLOCK_SIZE })
}

/**
 * The adapter to pull-streams of async-append-only-log leaves the items as they are, with offsets.
 * @param {string} file
 */
function createAsyncFlumelog (file) {
  const log = load('async-append-only-log/compat')(load('async-append-only-log')(file, { blockSize: BLOCK_SIZE }))
  const { stream } = log
  log.stream = (/** @type {object} */ options) => {
    const source = stream.call(log, options)
    return (/** @type {any} */ abort, /** @type {any} */ cb) => {
      source(abort, (/** @type {any} */ end, /** @type {any} */ item) => {
        cb(end, item && { seq: item.offset, value: item.value })
      })
    }
  }
  return log
}

/**
 * bench-flumelog appends without a pause, so at its end nothing would be there to be read.
 * @param {string} file
 */
async function fillAsync (file) {
  const log = createAsyncFlumelog(file)
  await new Promise((resolve) => log.since.once(resolve))
  for (let seq = 0; seq < FILL_COUNT; seq++) {
    // As large as the records of bench-flumelog are.
    const record = { seq: seq % 1000, random: Math.random(), time: new Date().toString(), foo: {} }
    log.append(Buffer.from(JSON.stringify(record)), () => {})
  }
  await new Promise((resolve) => log.onDrain(resolve))
  await call((cb) => log.close(cb))
}

/** @type {Pick<import('./index').Peer, 'kind' | 'queried' | 'ways'>} */
const FLUME = { kind: 'flume', queried: 'binary', ways: ['seekKey'] }
const cannot = { 'durable-1': 'never syncs', 'durable-256': 'never syncs' }

/** @type {import('./index').Peer[]} */
exports.parts = [
  {
    ...FLUME,
    name: 'flumelog-offset',
    label: 'flumelog-offset',
    packages: ['flumelog-offset', 'aligned-block-file', 'bipf'],
    cannot,
    open: (folder) => openOffset(path.join(folder, 'log')),
    openFlumelog: createOffset
  },
  {
    // Its records do not cross its blocks.
    ...FLUME,
    name: 'flumelog-aligned-offset',
    label: 'flumelog-aligned-offset',
    packages: ['flumelog-aligned-offset', 'bipf'],
    cannot,
    async open (folder) {
      const log = createAligned(path.join(folder, 'log'))
      await new Promise((resolve) => log.onDrain(resolve))
      return {
        // Told to wait it would write a batch each 20 ms.
        append: (records, cb) => log.append(records, false, cb),
        async settle () {
          // It says so after each block that it has written; at once, when there is none left.
          for (let isAtOnce = false; !isAtOnce;) {
            let isLater = false
            const drained = new Promise((resolve) => log.onDrain(() => resolve(!isLater)))
            isLater = true
            isAtOnce = await drained
          }
        },
        ...createReads(log, createPipeDrain(log), { seqs: false }),
        close: () => call((cb) => log.close(cb))
      }
    },
    openFlumelog: (file) => load('flumelog-aligned-offset/compat')(createAligned(file))
  },
  {
    // The log of ssb-db2.
    ...FLUME,
    name: 'async-append-only-log',
    label: 'async-append-only-log',
    packages: ['async-append-only-log', 'bipf'],
    async open (folder) {
      const log = load('async-append-only-log')(path.join(folder, 'log'), { blockSize: BLOCK_SIZE, writeTimeout: WRITE_TIMEOUT_MS })
      await new Promise((resolve) => log.onDrain(resolve))
      return {
        append: log.append.bind(log),
        settle: () => call((cb) => log.onDrain(cb)),
        // It syncs every block that it writes.
        appendOne: (record, cb) => {
          call((done) => log.append(record, done)).then(() => log.onDrain(cb), cb)
        },
        ...createReads(log, createPipeDrain(log), { offsets: false }),
        close: () => call((cb) => log.close(cb))
      }
    },
    openFlumelog: createAsyncFlumelog,
    fillFlumelog: fillAsync
  }
]

exports.openOffset = openOffset
