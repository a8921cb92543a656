'use strict'
// The logs of the flume family. They only stream records: they have no scan, no query and no list of keys.

const path = require('node:path')
const { loadPeer } = require('../engine/install')
const { call } = require('../lib/measure')
const { BLOCK_SIZE, createSeekRoot, drain } = require('../lib/readers')

// How long async-append-only-log waits for more records before it writes. Its default is 250; this is its least.
const WRITE_TIMEOUT_MS = 1
const FILL_COUNT = 1_000_000

/**
 * Visits each item of a stream: a record, a key, or both.
 * @typedef {(options: object, onItem: (item: any) => void) => Promise<void>} Drain
 */

/**
 * @param {any} log
 * @param {Drain} drain
 * @param {object} recordsOnly  options of a stream without keys
 */
function createReads (log, drain, recordsOnly) {
  return {
    /** @type {import('./index').Store['scan']} */
    scan: (visit) => drain(recordsOnly, (record) => visit(0, record, 0, record.length)),
    queries: {
      /** @type {import('./index').Query} */
      'bipf.seekKey' (root, onHit) {
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

/** For logs with push-streams. @type {(log: any) => Drain} */
function createPipeDrain (log) {
  return (options, write) => call((cb) => log.stream(options).pipe({ paused: false, ended: false, write, end: cb }))
}

/** @type {(file: string, options?: object) => any} */
function createOffset (file, options) {
  return loadPeer('flumelog-offset')(file, { blockSize: BLOCK_SIZE, ...options })
}

/** @type {(file: string, options?: object) => Promise<import('./index').Store>} */
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
  return loadPeer('flumelog-aligned-offset')(file, { block: BLOCK_SIZE })
}

/**
 * The log's own pull-stream adapter leaves the items as they are, with offsets instead of seqs.
 * @param {string} file
 */
function createAsyncFlumelog (file) {
  const log = loadPeer('async-append-only-log/compat')(loadPeer('async-append-only-log')(file, { blockSize: BLOCK_SIZE }))
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
 * bench-flumelog appends without a pause, so nothing of this log would be written when it begins to read.
 * @param {string} file
 */
async function fillAsync (file) {
  const log = createAsyncFlumelog(file)
  await new Promise((resolve) => log.since.once(resolve))
  for (let seq = 0; seq < FILL_COUNT; seq++) {
    // As large as a record of bench-flumelog.
    const record = { seq: seq % 1000, random: Math.random(), time: new Date().toString(), foo: {} }
    log.append(Buffer.from(JSON.stringify(record)), () => {})
  }
  await new Promise((resolve) => log.onDrain(resolve))
  await call((cb) => log.close(cb))
}

/** @type {Pick<import('./index').Peer, 'kind' | 'queried' | 'way'>} */
const FLUME = { kind: 'flume', queried: 'binary', way: 'bipf.seekKey' }
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
    // Its records do not cross blocks.
    ...FLUME,
    name: 'flumelog-aligned-offset',
    label: 'flumelog-aligned-offset',
    packages: ['flumelog-aligned-offset', 'bipf'],
    cannot,
    async open (folder) {
      const log = createAligned(path.join(folder, 'log'))
      await new Promise((resolve) => log.onDrain(resolve))
      return {
        // With `true` it would wait, and write a batch every 20 ms.
        append: (records, cb) => log.append(records, false, cb),
        async settle () {
          // onDrain calls back after each written block, and at once if nothing is left.
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
    openFlumelog: (file) => loadPeer('flumelog-aligned-offset/compat')(createAligned(file))
  },
  {
    // The log of ssb-db2.
    ...FLUME,
    name: 'async-append-only-log',
    label: 'async-append-only-log',
    packages: ['async-append-only-log', 'bipf'],
    async open (folder) {
      const log = loadPeer('async-append-only-log')(path.join(folder, 'log'), { blockSize: BLOCK_SIZE, writeTimeout: WRITE_TIMEOUT_MS })
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
