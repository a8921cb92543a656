'use strict'
// Appends that wait for the disk, appends that do not, and what a log takes of the disk beyond its records.

const fs = require('node:fs')
const path = require('node:path')
const { time } = require('../../lib/measure')
const { appendBatches, appendDurably, openStore, readBack, toBatches } = require('../../stores')
const { LENGTH_SIZE, PAGE_SIZE, crc32, putUint32 } = require('../insides')
const { RECORD_SIZE, createLimit, createRecords, writeCommits } = require('../runners')
const { betterSqlite3, classicLevel, lmdb } = require('./shared')

/** @typedef {import('./shared').Row} Row */
/** @typedef {import('../../stores').Store} Store */
/** @typedef {(folder: string) => Promise<Pick<Store, 'append' | 'scan' | 'close'>>} OpenStore */

const RECORDS_MAX = 100000
const DISTINCT = 1000
// From here on a larger write is no faster.
const LEAST_WRITE_SIZE = 512 * 1024
// Room for what the stores write beside the records, such as an index or a WAL.
const TOUCHED_PER_RECORD = 4 * RECORD_SIZE
const TOUCH_SIZE = 4 * 1024 * 1024
// The compiler is not done with what appends before it has seen a million of them.
const BATCH_SAMPLES = 31
const BOUND = 'copy the records together behind their lengths, sum them, write them, and call back'

exports.parts = [
  // The time of a sync, and what comes on top. So many records that what is compiled on the way does not count: the
  // first thousand take twice as long each.
  durable('append-one', 'append, synced each : SQLite, commit each', { appenderCount: 1, roundCount: 3000 }),
  // How well a log shares its syncs among many appenders that each wait for their record.
  durable('append-256', '256 appenders : SQLite, 256 a commit', { appenderCount: 256, roundCount: 50 }),
  batches('append-flumelog', 'append, batches of 100 : flumelog-offset', { faster: 3.5 }, store('flumelog-offset')),
  batches('append-lmdb', 'append, batches of 100 : LMDB', { faster: 4, needs: lmdb }, store('lmdb')),
  batches('append-level', 'append, batches of 100 : LevelDB', { faster: 5, samples: 11, needs: classicLevel }, store('leveldb')),
  batches('append-sqlite', 'append, batches of 100 : SQLite, WAL', { faster: 5, samples: 11, needs: betterSqlite3 }, store('sqlite')),
  // What can be lost at most: the same bytes, already in one piece.
  batches('append-raw', 'append, batches of 100 : raw write', { faster: 0.35, bound: undefined }, openRaw),
  // How the log puts together what comes in one by one, with a callback each.
  batches('append-each', 'append one by one : flumelog-offset', { faster: 2.8 }, store('flumelog-offset'), { batchSize: 1, inFlight: 1000 }),
  // As many records a commit as fill 60 kB, which is what a busy log coalesces without being told.
  space('space-batch', 'space beyond payload, 87 records a commit', 0.025, { commitCount: 1000, recordsPerCommit: 87 }),
  // The most that the format can cost: a header for every record.
  space('space-single', 'space beyond payload, 1 record a commit', 0.12, { commitCount: 50000, recordsPerCommit: 1 })
]

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
 * @param {string} name
 * @param {string} what
 * @param {{ appenderCount: number, roundCount: number }} work
 * @returns {Row}
 */
function durable (name, what, { appenderCount, roundCount }) {
  /** @type {(name: string) => import('./shared').OpenSide} */
  const side = (name) => ({ folder }) => {
    const records = createRecords(appenderCount)
    const isOver = (/** @type {number} */ count) => count >= appenderCount * roundCount
    return timeAppends(folder, false, (own) => openStore(name, own, 'durable'), (store) => {
      return appendDurably(store, records, appenderCount, isOver)
    })
  }
  const sides = { ours: side('checked'), peer: side('sqlite') }
  return { name, what, goal: 1, samples: 4, needs: betterSqlite3, prepare: ({ folder }) => ({ folder }), ...sides }
}

/**
 * The same records in the same batches, into Millrace and another store, and nothing is synced.
 * @param {string} name
 * @param {string} what
 * @param {Partial<Row>} more
 * @param {OpenStore} peer
 * @param {{ batchSize: number, inFlight: number }} [work]  records a call, and calls under way
 * @returns {Row}
 */
function batches (name, what, more, peer, { batchSize, inFlight } = { batchSize: 100, inFlight: 10 }) {
  /** @type {(open: OpenStore) => import('./shared').OpenSide} */
  const side = (open) => ({ folder, count }) => {
    const batches = toBatches(createRecords(DISTINCT), batchSize)
    touchPageCache(folder, count * TOUCHED_PER_RECORD)
    return timeAppends(folder, true, open, (store) => appendBatches(store, batches, count / batchSize, inFlight))
  }
  return {
    name,
    what,
    samples: BATCH_SAMPLES,
    bound: { what: BOUND, open: side(openLeast) },
    ...more,
    prepare ({ folder, records }) {
      return { folder, count: Math.ceil(Math.min(records, RECORDS_MAX) / DISTINCT) * DISTINCT }
    },
    ours: side(store('checked')),
    peer: side(peer)
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
      for (let start = 0; start < used; start += PAGE_SIZE) {
        crc32(buffer.subarray(start, Math.min(used, start + PAGE_SIZE)))
      }
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
        visit(bytes, start, end)
      }
    },
    close: async () => fs.closeSync(fd)
  }
}

/**
 * How much larger a log is than the records in it, after a clean close.
 * @param {string} name
 * @param {string} what
 * @param {number} goal
 * @param {{ commitCount: number, recordsPerCommit: number }} work
 * @returns {Row}
 */
function space (name, what, goal, work) {
  const records = work.commitCount * work.recordsPerCommit
  /** @type {import('./shared').OpenSide} */
  const ours = ({ file }) => ({
    async sample () {
      await writeCommits(file, work)
      return fs.statSync(file).size - records * RECORD_SIZE
    },
    finish: () => ({ records })
  })
  const prepare = (/** @type {import('./shared').Context} */ { folder }) => ({ file: path.join(folder, 'space.log') })
  const peer = createLimit(records * RECORD_SIZE, { records })
  return { name, what, unit: 'bytes', goal, isShare: true, isExact: true, prepare, ours, peer }
}
