'use strict'
// Appends that wait for the disk, appends that do not, and what a log takes of the disk beyond its records.

const fs = require('node:fs')
const path = require('node:path')
const { time } = require('../../lib/measure')
const { appendBatches, appendDurably, openStore, readBack, toBatches } = require('../../stores')
const { putUint32, sumPages } = require('../insides')
const { RECORD_SIZE, createLimit, createRecords, writeCommits } = require('../runners')
const { needs, toRows } = require('./shared')

/** @typedef {import('./shared').Row} Row */
/** @typedef {import('./shared').OpenSide} OpenSide */
/** @typedef {import('../../stores').Store} Store */
/** @typedef {(folder: string) => Promise<Pick<Store, 'append' | 'scan' | 'close'>>} OpenStore */

const RECORDS_MAX = 100000
const LENGTH_SIZE = 4
const DISTINCT = 1000
// From here on a larger write is no faster.
const LEAST_WRITE_SIZE = 512 * 1024
// Room for what the stores write beside the records, such as an index or a WAL.
const TOUCHED_PER_RECORD = 4 * RECORD_SIZE
const TOUCH_SIZE = 4 * 1024 * 1024
// The compiler is not done with what appends before it has seen a million of them.
const BATCH_SAMPLES = 31
const BOUND = 'copy the records together behind their lengths, sum them, write them, and call back'

/** @typedef {[prepare: Row['prepare'], ours: OpenSide, peer: OpenSide]} Sides */

const synced = { goal: 1, samples: 4, needs: needs.betterSqlite3 }
const batched = { samples: BATCH_SAMPLES, bound: { what: BOUND, open: inBatches(openLeast) } }
const single = { batchSize: 1, inFlight: 1000 }
/** @type {Partial<Row>} */
const space = { unit: 'bytes', isShare: true, isExact: true }

exports.parts = toRows([
  // The time of a sync, and what comes on top. So many records that what is compiled on the way does not count: the
  // first thousand take twice as long each.
  ['append-one', 'append, synced each : SQLite, commit each', synced, ...durably({ appenderCount: 1, roundCount: 3000 })],
  // How well a log shares its syncs among many appenders that each wait for their record.
  ['append-256', '256 appenders : SQLite, 256 a commit', synced, ...durably({ appenderCount: 256, roundCount: 50 })],
  ['append-flumelog', 'append, batches of 100 : flumelog-offset', { ...batched, faster: 3.5 }, ...beside(store('flumelog-offset'))],
  ['append-lmdb', 'append, batches of 100 : LMDB', { ...batched, faster: 4, needs: needs.lmdb }, ...beside(store('lmdb'))],
  ['append-level', 'append, batches of 100 : LevelDB',
    { ...batched, faster: 5, samples: 11, needs: needs.classicLevel }, ...beside(store('leveldb'))],
  ['append-sqlite', 'append, batches of 100 : SQLite, WAL',
    { ...batched, faster: 5, samples: 11, needs: needs.betterSqlite3 }, ...beside(store('sqlite'))],
  // What can be lost at most: the same bytes, already in one piece.
  ['append-raw', 'append, batches of 100 : raw write', { samples: BATCH_SAMPLES, faster: 0.35 }, ...beside(openRaw)],
  // How the log puts together what comes in one by one, with a callback each.
  ['append-each', 'append one by one : flumelog-offset',
    { ...batched, faster: 2.8, bound: { what: BOUND, open: inBatches(openLeast, single) } },
    ...beside(store('flumelog-offset'), single)],
  // As many records a commit as fill 60 kB, which is what a busy log coalesces without being told.
  ['space-batch', 'space beyond payload, 87 records a commit', { ...space, goal: 0.025 },
    ...takingSpace({ commitCount: 1000, recordsPerCommit: 87 })],
  // The most that the format can cost: a header for every record.
  ['space-single', 'space beyond payload, 1 record a commit', { ...space, goal: 0.12 },
    ...takingSpace({ commitCount: 50000, recordsPerCommit: 1 })]
])

/**
 * @param {string} name
 * @returns {OpenStore}
 */
function store (name) {
  return (folder) => openStore(name, folder, 'append')
}

/**
 * Each record is on stable storage before the next step: so many appenders at once, each so many records; in SQLite so
 * many records a transaction, one transaction after the other. SQLite's first sample brings its WAL to the length at
 * which it begins to write it anew from the start, and is from then on faster: that is the state to be compared with.
 * @param {{ appenderCount: number, roundCount: number }} work
 * @returns {Sides}
 */
function durably ({ appenderCount, roundCount }) {
  /** @type {(name: string) => OpenSide} */
  const side = (name) => ({ folder }) => {
    const records = createRecords(appenderCount)
    const isOver = (/** @type {number} */ count) => count >= appenderCount * roundCount
    return timeAppends(folder, false, (own) => openStore(name, own, 'durable'), (store) => {
      return appendDurably(store, records, appenderCount, isOver)
    })
  }
  return [({ folder }) => ({ folder }), side('checked'), side('sqlite')]
}

/**
 * The same records in the same batches, into Millrace and another store, and nothing is synced.
 * @param {OpenStore} peer
 * @param {Batching} [batching]
 * @returns {Sides}
 */
function beside (peer, batching) {
  return [({ folder, records }) => {
    return { folder, count: Math.ceil(Math.min(records, RECORDS_MAX) / DISTINCT) * DISTINCT }
  }, inBatches(store('checked'), batching), inBatches(peer, batching)]
}

/**
 * @typedef {{ batchSize: number, inFlight: number }} Batching  records a call, and calls under way
 * @param {OpenStore} open
 * @param {Batching} [batching]
 * @returns {OpenSide}
 */
function inBatches (open, { batchSize, inFlight } = { batchSize: 100, inFlight: 10 }) {
  return ({ folder, count }) => {
    const batches = toBatches(createRecords(DISTINCT), batchSize)
    touchPageCache(folder, count * TOUCHED_PER_RECORD)
    return timeAppends(folder, true, open, (store) => appendBatches(store, batches, count / batchSize, inFlight))
  }
}

/**
 * Only the newest store is read back, at the end: what that leaves would be collected within the next sample.
 * @template {Pick<Store, 'scan' | 'close'>} Opened
 * @param {string} folder
 * @param {boolean} isFresh  whether each sample gets a new store
 * @param {(own: string) => Promise<Opened>} open
 * @param {(store: Opened) => Promise<unknown>} append
 * @returns {import('../runners').Runner}
 */
function timeAppends (folder, isFresh, open, append) {
  let own = ''
  /** @type {Opened | undefined} */
  let store
  const discard = async () => {
    if (store === undefined) return
    await store.close()
    fs.rmSync(own, { recursive: true })
    store = undefined
  }
  return {
    async sample () {
      if (isFresh) await discard()
      if (store === undefined) own = fs.mkdtempSync(path.join(folder, 'append-'))
      const current = store ??= await open(own)
      return time(() => append(current))
    },
    async finish () {
      const answer = await readBack(/** @type {Opened} */ (store))
      await discard()
      return answer
    }
  }
}

/**
 * Memory that a machine has not touched yet is slow to be written the first time, up to sixteen times: it is touched
 * before anything is timed that fills the page cache.
 * @param {string} folder
 * @param {number} size  bytes
 */
function touchPageCache (folder, size) {
  const file = path.join(folder, `touched-${process.pid}`)
  const buf = Buffer.alloc(TOUCH_SIZE, 1)
  const fd = fs.openSync(file, 'w')
  for (let written = 0; written < size; written += TOUCH_SIZE) fs.writeSync(fd, buf)
  fs.closeSync(fd)
  fs.rmSync(file)
}

/**
 * Nothing but the bytes of the records, put together once: the least that an append can be.
 * @type {OpenStore}
 */
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
 * What any log with checksums must do with records that come in one by one, or a few at a time: put them together, each
 * behind its length, since a write for each takes far longer, sum them, and call back once they are written. It has
 * no failures.
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
 * @param {number} lengthSize  of what stands before each record
 * @param {(fd: number) => Store['append']} createAppend
 */
function openFile (folder, lengthSize, createAppend) {
  const file = path.join(folder, 'file')
  const fd = fs.openSync(file, 'w')
  return {
    append: createAppend(fd),
    async scan (/** @type {import('../../stores').Visit} */ visit) {
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
 * How much larger a log is than the records in it, after a clean close.
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 * @returns {Sides}
 */
function takingSpace (work) {
  const records = work.commitCount * work.recordsPerCommit
  return [({ folder }) => ({ file: path.join(folder, 'space.log') }), ({ file }) => ({
    async sample () {
      await writeCommits(file, work)
      return fs.statSync(file).size - records * RECORD_SIZE
    },
    finish: () => ({ records })
  }), createLimit(records * RECORD_SIZE, { records })]
}
