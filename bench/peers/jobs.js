'use strict'
// The jobs that every peer is given, in the order of the table. A job is measured in a process of its own.

const fs = require('node:fs')
const { decode } = require('@millrace/binary-codec')
const path = require('node:path')
const { runPipeline } = require('../lib/pipeline')
const { createPrng } = require('../lib/prng')
const { listRecords, toRecord } = require('../lib/readers')
const { median } = require('../lib/report')
const { syncFile } = require('../lib/work-file')
const { appendBatches, appendDurably, readBack, tallyOf, tallyRecords, toBatches } = require('../stores/appends')

/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('../stores').Store} Store */

/**
 * @typedef {object} Setting
 * @property {string} folder  of this case, or of what was filled
 * @property {{ binary: string, json: string }} logs  what the records are taken from
 * @property {string} query
 * @property {string} way  of its queries
 * @property {number} total  records there are
 * @property {number} seconds  how long a job may go on that has no end by itself
 */

/**
 * @typedef {object} Outcome
 * @property {number} records  in the time given
 * @property {number} ms
 * @property {number | null} first  ms of the first sample, where there are several
 * @property {Record<string, number | string>} answer  what all peers must agree about
 */

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {string} meaning  one line
 * @property {import('../stores').Mode | 'flumelog'} mode
 * @property {string[]} [cases]  it comes to several outcomes, in this order, and only runs when it is named
 * @property {(peer: Peer, setting: Setting) => Promise<Outcome | Outcome[]>} measure
 */

// A name that the type checker cannot follow: it need not be there.
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
  createAppendJob({ name: 'append', meaning: 'batches of 100, not synced', mode: 'append' }, true, async (store, records) => {
    const batches = toBatches(records, BATCH_COUNT)
    await appendBatches(store, batches, batches.length, 1)
    await store.settle?.()
    return records.length
  }),
  createAppendJob({ name: 'durable-1', meaning: 'one at a time, each synced', mode: 'durable' }, false, appendUntil(1)),
  createAppendJob({ name: 'durable-256', meaning: '256 in flight, each synced', mode: 'durable' }, false, appendUntil(256)),
  createReadJob({ name: 'scan', meaning: 'every record’s bytes, in order', mode: 'read' }, (store) => {
    let tally = tallyRecords()
    return {
      run () {
        tally = tallyRecords()
        return store.scan(tally.visit)
      },
      result () {
        const answer = tally.result()
        return { records: answer.records, answer }
      }
    }
  }),
  createReadJob({ name: 'query', meaning: 'value.content.root == X, among all', mode: 'query' }, (store, { query, way, total }) => {
    /** @type {Array<Uint8Array | object>} */
    let hits = []
    return {
      async run () {
        hits = []
        await store.queries?.[way](query, (found) => {
          // Bytes are borrowed.
          hits.push(found instanceof Uint8Array ? Buffer.from(found) : found)
        })
      },
      result () {
        const messages = hits.map((found) => Buffer.isBuffer(found) ? decode(found) : found)
        const { records, digest } = tallyOf(messages.map((message) => Buffer.from(JSON.stringify(message))))
        return { records: total, answer: { hits: records, digest } }
      }
    }
  }),
  createReadJob({ name: 'get', meaning: 'by key, at random, 16 in flight', mode: 'read' }, ({ get = () => {} }, { folder }) => {
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
  }),
  { name: 'bench-flumelog', meaning: 'the bench of the flume family', mode: 'flumelog', cases: FLUMELOG_CASES, measure: runBenchFlumelog }
]

/**
 * What was appended is read back, and compared with what it should be.
 * @param {Omit<Job, 'measure'>} job
 * @param {boolean} isWhole  whether all peers append all of the records
 * @param {(store: Store, records: Buffer[], seconds: number) => Promise<number>} append  the first so many, in order
 * @returns {Job}
 */
function createAppendJob (job, isWhole, append) {
  return {
    ...job,
    async measure (peer, { folder, logs, seconds }) {
      const mode = /** @type {import('../stores').Mode} */ (job.mode)
      const records = await listRecords(logs.binary, toRecord)
      const store = await peer.open(folder, mode)
      const started = performance.now()
      const count = await append(store, records, seconds)
      const ms = performance.now() - started
      await store.close()
      const expected = tallyOf(Array.from({ length: count }, (_, index) => records[index % records.length]))
      const written = await peer.open(folder, 'read')
      const found = await readBack(written)
      await written.close()
      if (JSON.stringify(found) !== JSON.stringify(expected)) {
        throw new Error(`appended ${JSON.stringify(expected)}, and found ${JSON.stringify(found)}`)
      }
      return { records: count, ms, first: null, answer: isWhole ? found : {} }
    }
  }
}

/**
 * @param {number} appenders
 * @returns {(store: Store, records: Buffer[], seconds: number) => Promise<number>}
 */
function appendUntil (appenders) {
  return (store, records, seconds) => {
    const end = performance.now() + seconds * 1000
    return appendDurably(store, records, appenders, (count) => count >= records.length || performance.now() > end)
  }
}

/**
 * The first sample is kept apart, since nothing is compiled by then; then the median of those after it.
 * @param {Omit<Job, 'measure'>} job
 * @param {(store: Store, setting: Setting) => { prepare?: () => void, run: () => Promise<unknown>,
 *   result: () => { records: number, answer: Outcome['answer'] } }} createWork
 * @returns {Job}
 */
function createReadJob (job, createWork) {
  return {
    ...job,
    async measure (peer, setting) {
      const store = await peer.open(setting.folder, /** @type {import('../stores').Mode} */ (job.mode))
      const { prepare, run, result } = createWork(store, setting)
      /** @type {number[]} */
      const samples = []
      while (samples.length <= SAMPLE_COUNT) {
        prepare?.()
        const started = performance.now()
        await run()
        samples.push(performance.now() - started)
      }
      await store.close()
      const [first, ...rest] = samples
      return { ...result(), ms: median(rest), first }
    }
  }
}

/**
 * bench-flumelog as it is: it prints what it found and nothing else, and calls nobody when it is done.
 * @param {Pick<Peer, 'openFlumelog' | 'fillFlumelog'>} peer
 * @param {Pick<Setting, 'folder'>} setting
 * @param {(createLog: () => any) => void} [bench]
 * @returns {Promise<Outcome[]>}
 */
async function runBenchFlumelog ({ openFlumelog, fillFlumelog }, { folder }, bench = load('bench-flumelog')) {
  const file = path.join(folder, 'log')
  await fillFlumelog?.(file)
  const { log: print } = console
  return new Promise((resolve) => {
    /** @type {Map<string, Outcome>} */
    const outcomes = new Map()
    console.log = (line) => {
      // name, ops/second, mb/second, ops, total-mb, seconds
      const [name, ...texts] = String(line).split(', ')
      const [, , records, , seconds] = texts.map(Number)
      if (texts.length !== 5 || Number.isNaN(seconds)) return
      outcomes.set(name, { records, ms: seconds * 1000, first: null, answer: {} })
      if (name !== FLUMELOG_CASES[FLUMELOG_CASES.length - 1]) return
      console.log = print
      resolve(FLUMELOG_CASES.map((name) => outcomes.get(name) ?? { records: 0, ms: 0, first: null, answer: {} }))
    }
    bench(() => openFlumelog?.(file))
  })
}

/**
 * Fills a store with all of the messages, for the jobs that read. Not measured.
 * @param {Peer} peer
 * @param {Setting} setting
 * @param {'binary' | 'json'} format
 */
async function fill (peer, { folder, logs }, format) {
  const records = await listRecords(logs[format], toRecord)
  const store = await peer.open(folder, format === 'json' ? 'query' : 'append')
  const batches = toBatches(records, FILL_COUNT)
  await appendBatches(store, batches, batches.length, 1)
  await store.settle?.()
  if (format === 'binary') {
    // Keys are found by reading the log once, which fills its cache: so it is done here, and not where it counts.
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

exports.fill = fill
exports.runBenchFlumelog = runBenchFlumelog
