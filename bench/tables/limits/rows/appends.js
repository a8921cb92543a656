'use strict'
// Rows about appending: with a sync each, without syncs, and the space of a log beyond its records.

const fs = require('node:fs')
const path = require('node:path')
const { time } = require('../../../lib/measure')
const { appendBatches, appendDurably, openStore, readBack, toBatches } = require('../../../stores')
const { putUint32, sumPages } = require('../least')
const { RECORD_SIZE, createRecords, writeCommits } = require('../runners')
const { needs, toRow } = require('../shared')

/** @typedef {import('../../../engine/row').Row} Row */
/** @typedef {import('../shared').OpenSide} OpenSide */
/** @typedef {import('../../../stores').Store} Store */
/** @typedef {(folder: string) => Promise<Pick<Store, 'append' | 'scan' | 'close'>>} OpenStore */

const RECORDS_MAX = 100000
const LENGTH_SIZE = 4
const DISTINCT = 1000
// A larger write is no faster.
const LEAST_WRITE_SIZE = 512 * 1024
// Stores also write an index or a WAL.
const TOUCHED_PER_RECORD = 4 * RECORD_SIZE
const TOUCH_SIZE = 4 * 1024 * 1024
// The compiler optimises the appending code only after about a million appends.
const BATCH_SAMPLES = 31
const LEAST = 'copy the records together behind their lengths, sum them, write them, and call back'

/** @typedef {[prepare: Row['prepare'], sides: Record<string, OpenSide>]} Sides */

const synced = { within: 1, samples: 4, needs: needs.betterSqlite3 }
const batched = { samples: BATCH_SAMPLES, least: { what: LEAST, open: inBatches(openLeast) } }
const single = { batchSize: 1, inFlight: 1000 }
// It always gives the same.
const space = /** @type {const} */ ({ unit: 'bytes', isShare: true, runs: 1 })

exports.parts = [
  // The cost of a sync and of what comes on top. There must be many records, because each of the first thousand takes
  // twice as long, until the code is compiled.
  toRow('append-one', 'append, synced each : SQLite, commit each', synced, ...durably({ appenderCount: 1, roundCount: 3000 })),
  // How well a log shares syncs among many appenders that each wait for their record.
  toRow('append-256', '256 appenders : SQLite, 256 a commit', synced, ...durably({ appenderCount: 256, roundCount: 50 })),
  toRow('append-flumelog', 'append, batches of 100 : flumelog-offset', { ...batched, times: 3.5 }, ...beside('flumelog-offset')),
  toRow('append-lmdb', 'append, batches of 100 : LMDB', { ...batched, times: 4, needs: needs.lmdb }, ...beside('lmdb')),
  toRow('append-level', 'append, batches of 100 : LevelDB',
    { ...batched, times: 5, samples: 11, needs: needs.classicLevel }, ...beside('leveldb')),
  toRow('append-sqlite', 'append, batches of 100 : SQLite, WAL',
    { ...batched, times: 5, samples: 11, needs: needs.betterSqlite3 }, ...beside('sqlite')),
  // The other side writes the same bytes, already joined: the most that an append could gain.
  toRow('append-raw', 'append, batches of 100 : raw write', { samples: BATCH_SAMPLES, times: 0.35 }, ...beside('write', openRaw)),
  // Each record comes with a callback of its own, and the log joins them.
  toRow('append-each', 'append one by one : flumelog-offset',
    { ...batched, times: 2.8, least: { what: LEAST, open: inBatches(openLeast, single) } },
    ...beside('flumelog-offset', store('flumelog-offset'), single)),
  // 87 records fill 60 KB. A busy log joins that many by itself.
  toRow('space-batch', 'space beyond payload, 87 records a commit', { ...space, within: 0.025 },
    ...takingSpace({ commitCount: 1000, recordsPerCommit: 87 })),
  // The worst case of the format: a header for every record.
  toRow('space-single', 'space beyond payload, 1 record a commit', { ...space, within: 0.12 },
    ...takingSpace({ commitCount: 50000, recordsPerCommit: 1 }))
]

/** @type {(name: string) => OpenStore} */
function store (name) {
  return (folder) => openStore(name, folder, 'append')
}

/**
 * Appenders that each wait until their record is durable, of ours and of another store. SQLite gets one transaction of
 * as many records instead. During its first sample its WAL reaches the length at which it is rewritten from the start,
 * which is faster from then on. That is the state to compare with.
 * @param {{ appenderCount: number, roundCount: number }} work
 * @param {string} [other]
 * @param {string} [ours]
 * @returns {Sides}
 */
function durably ({ appenderCount, roundCount }, other = 'sqlite', ours = 'checked') {
  /** @type {(name: string) => OpenSide} */
  const side = (name) => ({ folder }) => {
    const records = createRecords(appenderCount)
    const isOver = (/** @type {number} */ count) => count >= appenderCount * roundCount
    return timeAppends(folder, false, (own) => openStore(name, own, 'durable'), (store) => {
      return appendDurably(store, records, appenderCount, isOver)
    })
  }
  return [undefined, { millrace: side(ours), [other]: side(other) }]
}

/**
 * Appends the same batches to Millrace and to another store, without syncs.
 * @type {(name: string, open?: OpenStore, batching?: Batching, ours?: string) => Sides}
 */
function beside (name, open = store(name), batching, ours = 'checked') {
  return [({ options: { records } }) => {
    return { count: Math.ceil(Math.min(records, RECORDS_MAX) / DISTINCT) * DISTINCT }
  }, { millrace: inBatches(store(ours), batching), [name]: inBatches(open, batching) }]
}

/**
 * @typedef {{ batchSize: number, inFlight: number }} Batching  records per call, and calls at a time
 * @type {(open: OpenStore, batching?: Batching) => OpenSide}
 */
function inBatches (open, { batchSize, inFlight } = { batchSize: 100, inFlight: 10 }) {
  return ({ folder, count }) => {
    const batches = toBatches(createRecords(DISTINCT), batchSize)
    touchPageCache(folder, count * TOUCHED_PER_RECORD)
    return timeAppends(folder, true, open, (store) => appendBatches(store, batches, count / batchSize, inFlight))
  }
}

/**
 * Only the last store is read back, after all samples. Otherwise the garbage of reading back would be collected during
 * the next sample.
 * @template {Pick<Store, 'scan' | 'close'>} Opened
 * @param {string} folder
 * @param {boolean} isFresh  whether each sample gets a new store
 * @param {(own: string) => Promise<Opened>} open
 * @param {(store: Opened) => Promise<unknown>} append
 * @returns {import('../runners').Runner}
 */
function timeAppends (folder, isFresh, open, append) {
  const own = path.join(folder, 'store')
  /** @type {any} */
  let store
  const renew = async () => {
    await store?.close()
    fs.rmSync(own, { recursive: true, force: true })
    fs.mkdirSync(own)
    store = await open(own)
  }
  return {
    async sample () {
      if (isFresh || store === undefined) await renew()
      return time(() => append(store))
    },
    finish: () => readBack(store)
  }
}

/**
 * The first write to a page of a machine's memory can take sixteen times as long. So this fills the page cache once
 * before anything is timed that does.
 * @param {string} folder
 * @param {number} size  in bytes
 */
function touchPageCache (folder, size) {
  const file = path.join(folder, 'touched')
  const buf = Buffer.alloc(TOUCH_SIZE, 1)
  const fd = fs.openSync(file, 'w')
  for (let written = 0; written < size; written += TOUCH_SIZE) fs.writeSync(fd, buf)
  fs.closeSync(fd)
  fs.rmSync(file)
}

/** The least that an append must do: writes the bytes of the records, joined in advance. @type {OpenStore} */
async function openRaw (folder) {
  /** @type {WeakMap<Buffer[], Buffer>} */
  const joined = new WeakMap()
  return openFile(folder, 0, (fd) => (records, cb) => {
    if (!joined.has(records)) joined.set(records, Buffer.concat(records))
    fs.writeSync(fd, /** @type {Buffer} */ (joined.get(records)))
    cb()
  })
}

/**
 * The least that a log with checksums must do with records that come one by one, or a few at a time: joins them, each
 * behind its length (a write for each would take far longer), computes checksums, writes, and calls back. It handles no
 * failures.
 * @type {OpenStore}
 */
async function openLeast (folder) {
  const buffer = Buffer.allocUnsafeSlow(LEAST_WRITE_SIZE)
  /** @type {Array<() => void>} */
  let waiting = []
  let used = 0
  return openFile(folder, LENGTH_SIZE, (fd) => {
    const flush = () => {
      sumPages(buffer, used)
      fs.writeSync(fd, buffer, 0, used)
      used = 0
    }
    const write = () => {
      flush()
      const written = waiting
      waiting = []
      for (const cb of written) cb()
    }
    return (records, cb) => {
      for (const record of records) {
        if (used + LENGTH_SIZE + record.length > LEAST_WRITE_SIZE) flush()
        putUint32(buffer, record.length, used)
        buffer.set(record, used + LENGTH_SIZE)
        used += LENGTH_SIZE + record.length
      }
      if (waiting.length === 0) process.nextTick(write)
      waiting.push(cb)
    }
  })
}

/**
 * @param {string} folder
 * @param {number} lengthSize  bytes in front of each record
 * @param {(fd: number) => Store['append']} createAppend
 */
function openFile (folder, lengthSize, createAppend) {
  const file = path.join(folder, 'file')
  const fd = fs.openSync(file, 'w')
  return {
    append: createAppend(fd),
    async scan (/** @type {import('../../../stores').Visit} */ visit) {
      const bytes = fs.readFileSync(file)
      for (let end = 0; end < bytes.length;) {
        const start = end + lengthSize
        end = start + RECORD_SIZE
        visit(0, bytes, start, end)
      }
    },
    close: async () => fs.closeSync(fd)
  }
}

/**
 * How much larger a cleanly closed log is than its records.
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 * @returns {Sides}
 */
function takingSpace (work) {
  const records = work.commitCount * work.recordsPerCommit
  return [undefined, {
    millrace: ({ folder }) => ({
      async sample () {
        const file = path.join(folder, 'space.log')
        await writeCommits(file, work)
        return fs.statSync(file).size - records * RECORD_SIZE
      },
      finish: () => ({ records })
    }),
    payload: () => ({ sample: () => records * RECORD_SIZE, finish: () => ({ records }) })
  }]
}

exports.BATCH_SAMPLES = BATCH_SAMPLES
exports.beside = beside
exports.durably = durably
exports.timeAppends = timeAppends
