'use strict'
// The jobs of the peers, in the order of the table, and the tasks of a child process: it probes a peer, fills it, or
// measures it at a job.

const fs = require('node:fs')
const path = require('node:path')
const { decode } = require('@millrace/binary-codec')
const { call, runPipeline, takeSamples, time } = require('../lib/measure')
const { createPrng } = require('../lib/prng')
const { listRecords, toRecord } = require('../lib/readers')
const { syncFile } = require('../lib/work-file')
const { RecordTally, appendAll, appendDurably, readBack, tallyOf } = require('../stores')

/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('../stores').Store} Store */

/**
 * @typedef {object} Setting
 * @property {string} folder  of this case, or of a filled store
 * @property {{ binary: string, json: string }} logs  the sources of the records
 * @property {string} query
 * @property {string} way  to query
 * @property {'binary' | 'json'} reads  what the store is filled with
 * @property {number} total  number of records
 * @property {number} seconds  the time limit of a durable append
 */

/**
 * @typedef {object} Outcome
 * @property {number} records
 * @property {number} ms
 * @property {number | null} first  ms of the first sample, if there are several
 * @property {Record<string, number | string>} answer  must be the same for all peers
 */

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {string} meaning  one line
 * @property {import('../stores').Mode} mode
 * @property {Append} [append]
 * @property {(store: Store, setting: Setting) => Work} [read]
 * @property {string[]} [cases]  the outcomes of bench-flumelog, in order; such a job runs only if it is named
 */

/** @typedef {(store: Store, records: Buffer[], seconds: number) => Promise<number>} Append  returns how many records */

/**
 * @typedef {object} Work
 * @property {() => void} [prepare]
 * @property {() => Promise<unknown>} run
 * @property {() => { records: number, answer: Outcome['answer'] }} result
 */

// Hides the name from the type checker, because the package may be absent.
const load = require
const BATCH_COUNT = 100
const FILL_COUNT = 1000
const GET_COUNT = 50_000
const IN_FLIGHT = 16
const SEED = 16
const SAMPLE_COUNT = 3
const FLUMELOG_CASES = ['append', 'stream', 'stream no cache', 'stream10', 'random']

/** @type {Job[]} */
exports.parts = [
  { name: 'append', meaning: 'batches of 100, not synced', mode: 'append', append: appendWhole },
  { name: 'durable-1', meaning: 'one at a time, each synced', mode: 'durable', append: appendUntil(1) },
  { name: 'durable-256', meaning: '256 in flight, each synced', mode: 'durable', append: appendUntil(256) },
  { name: 'scan', meaning: 'every record’s bytes, in order', mode: 'read', read: scan },
  { name: 'query', meaning: 'value.content.root == X, among all', mode: 'query', read: query },
  { name: 'get', meaning: 'by key, at random, 16 in flight', mode: 'read', read: get },
  { name: 'bench-flumelog', meaning: 'the bench of the flume family', mode: 'append', cases: FLUMELOG_CASES }
]

/** @type {Append} */
async function appendWhole (store, records) {
  await appendAll(store, records, BATCH_COUNT)
  return records.length
}

/** @type {(appenders: number) => Append} */
function appendUntil (appenders) {
  return (store, records, seconds) => {
    const end = performance.now() + seconds * 1000
    return appendDurably(store, records, appenders, (count) => count >= records.length || performance.now() > end)
  }
}

/** @type {NonNullable<Job['read']>} */
function scan (store) {
  let tally = new RecordTally()
  return {
    run () {
      tally = new RecordTally()
      return store.scan(tally.visit.bind(tally))
    },
    result: () => ({ records: tally.records, answer: tally.answer() })
  }
}

/** @type {NonNullable<Job['read']>} */
function query (store, { query, way, total }) {
  /** @type {Array<Uint8Array | object>} */
  let hits = []
  return {
    async run () {
      hits = []
      await store.queries?.[way](query, (found) => {
        // The bytes are only valid during this call.
        hits.push(found instanceof Uint8Array ? Buffer.from(found) : found)
      })
    },
    result () {
      const messages = hits.map((found) => Buffer.isBuffer(found) ? decode(found) : found)
      const { records, digest } = tallyOf(messages.map((message) => Buffer.from(JSON.stringify(message))))
      return { records: total, answer: { hits: records, digest } }
    }
  }
}

/** @type {NonNullable<Job['read']>} */
function get ({ get = () => {} }, { folder }) {
  const keys = new Float64Array(new Uint8Array(fs.readFileSync(`${folder}.keys`)).buffer)
  const count = Math.min(GET_COUNT, keys.length)
  const prng = createPrng(SEED)
  /** @type {Uint8Array[]} */
  const found = new Array(count)
  let wanted = new Float64Array()
  return {
    prepare () {
      wanted = Float64Array.from({ length: count }, () => keys[prng.below(keys.length)])
    },
    run: () => runPipeline(count, IN_FLIGHT, (index, cb) => get(wanted[index], (err, record) => {
      if (err || record === undefined) return cb(err ?? new Error(`there is no record ${wanted[index]}`))
      found[index] = record
      cb(null)
    })),
    result: () => ({ records: count, answer: tallyOf(found) })
  }
}

/**
 * Checks that a peer is available: its packages load, and it takes a record.
 * @param {{ peer: Peer, setting: { folder: string } }} order
 * @returns {Promise<{ packages: string[] }>}
 */
async function probe ({ peer, setting: { folder } }) {
  const store = await peer.open(folder, 'append')
  await call((cb) => store.append([Buffer.from('a record')], cb))
  await store.settle?.()
  await store.close()
  return { packages: store.packages ?? peer.packages }
}

/**
 * Fills a store with all messages, for the jobs that read. This is not measured.
 * @param {{ peer: Peer, setting: Setting }} order
 */
async function fill ({ peer, setting: { folder, logs, reads } }) {
  const records = await listRecords(logs[reads], toRecord)
  const store = await peer.open(folder, reads === 'json' ? 'query' : 'append')
  await appendAll(store, records, FILL_COUNT)
  if (reads === 'binary') {
    // Listing the keys reads the whole log and fills its cache, so it must not happen in a measured process.
    const keys = await store.listKeys?.() ?? Array.from(records.keys())
    if (keys.length !== records.length) throw new Error(`has ${keys.length} keys for ${records.length} records`)
    fs.writeFileSync(`${folder}.keys`, Float64Array.from(keys))
  }
  await store.close()
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.isFile()) syncFile(path.join(folder, entry.name))
  }
  return {}
}

/** @type {(order: { peer: Peer, job: Job, setting: Setting }) => Promise<Outcome | Outcome[]>} */
async function measure ({ peer, job, setting }) {
  if (job.cases) return runBenchFlumelog(peer, setting)
  if (job.append) return measureAppend(peer, job.append, job.mode, setting)
  const store = await peer.open(setting.folder, job.mode)
  const { prepare, run, result } = /** @type {NonNullable<Job['read']>} */ (job.read)(store, setting)
  const { first, value: ms } = await takeSamples(SAMPLE_COUNT, () => {
    prepare?.()
    return time(run)
  })
  await store.close()
  return { ...result(), ms, first }
}

/**
 * Reads back what was appended and compares it.
 * @type {(peer: Peer, append: Append, mode: Job['mode'], setting: Setting) => Promise<Outcome>}
 */
async function measureAppend (peer, append, mode, { folder, logs, seconds }) {
  const records = await listRecords(logs.binary, toRecord)
  const store = await peer.open(folder, mode)
  let count = 0
  const ms = await time(async () => { count = await append(store, records, seconds) })
  await store.close()
  const expected = tallyOf(Array.from({ length: count }, (_, index) => records[index % records.length]))
  const written = await peer.open(folder, 'read')
  const found = await readBack(written)
  await written.close()
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`appended ${JSON.stringify(expected)}, and found ${JSON.stringify(found)}`)
  }
  // Durable appends run for a fixed time, so their number differs between peers.
  return { records: count, ms, first: null, answer: mode === 'append' ? found : {} }
}

/**
 * Runs bench-flumelog unchanged. It only prints its results, and has no callback, so its output is intercepted.
 * @param {Pick<Peer, 'openFlumelog' | 'fillFlumelog'>} peer
 * @param {Pick<Setting, 'folder'>} setting
 * @param {(createLog: () => any) => void} [bench]
 * @returns {Promise<Outcome[]>}
 */
async function runBenchFlumelog ({ openFlumelog, fillFlumelog }, { folder }, bench = load('bench-flumelog')) {
  const file = path.join(folder, 'log')
  await fillFlumelog?.(file)
  const { log: print } = console
  /** @type {Map<string, Outcome>} */
  const outcomes = new Map(FLUMELOG_CASES.map((name) => [name, { records: 0, ms: 0, first: null, answer: {} }]))
  return new Promise((resolve) => {
    console.log = (line) => {
      // name, ops/second, mb/second, ops, total-mb, seconds
      const [name, ...texts] = String(line).split(', ')
      const [, , records, , seconds] = texts.map(Number)
      if (texts.length !== 5 || Number.isNaN(seconds)) return
      outcomes.set(name, { records, ms: seconds * 1000, first: null, answer: {} })
      if (name !== FLUMELOG_CASES[FLUMELOG_CASES.length - 1]) return
      console.log = print
      resolve(FLUMELOG_CASES.flatMap((name) => outcomes.get(name) ?? []))
    }
    bench(() => openFlumelog?.(file))
  })
}

exports.probe = probe
exports.fill = fill
exports.measure = measure
exports.runBenchFlumelog = runBenchFlumelog
