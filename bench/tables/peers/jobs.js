'use strict'
// The jobs of the stores, in the order of the table: what is prepared for each, and what a measuring process does.

const fs = require('node:fs')
const path = require('node:path')
const { decode } = require('@millrace/binary-codec')
const { loadPeer } = require('../../engine/install')
const { findSource } = require('../../lib/logs')
const { runPipeline, takeSamples, time } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { listRecords, toRecord } = require('../../lib/readers')
const { formatCount } = require('../../lib/report')
const { ChildError, runTask, takeTurns } = require('../../lib/run')
const { syncFile } = require('../../lib/work-file')
const { RecordTally, appendAll, appendDurably, parts: peers, readBack, tallyOf } = require('../../stores')

/** @typedef {import('../../stores').Peer} Peer */
/** @typedef {import('../../stores').Store} Store */
/** @typedef {import('../../stores').Mode} Mode */
/** @typedef {import('../../engine/row').Answer} Answer */
/** @typedef {import('../../engine/row').Context} Context */
/** @typedef {import('../../engine/row').Reading} Reading */
/** @typedef {import('../../engine/row').Row} Row */

/** @typedef {(store: Store, records: Buffer[]) => Promise<number>} Append  returns how many records */

/**
 * @typedef {object} Work
 * @property {() => void} [prepare]
 * @property {() => Promise<unknown>} run
 * @property {() => { records: number, answer: Answer }} result
 */

/** @typedef {(store: Store, setting: { peer: Peer, folder: string, query: string, total: number }) => Work} Read */

const BATCH_COUNT = 100
const FILL_COUNT = 1000
const GET_COUNT = 50_000
const IN_FLIGHT = 16
const SEED = 16
const SAMPLE_COUNT = 3
/** Of durable appends. */
const SECONDS = 1.5
// Far more than any store needs to be filled. Some never call back.
const FILL_MS = 90_000
const FLUMELOG_CASES = ['append', 'stream', 'stream no cache', 'stream10', 'random']
const FLUMELOG_MS = 3 * 60_000

/** @type {Row[]} */
exports.parts = [
  job('append', 'batches of 100, not synced', prepareAppend, measureAppend('append', appendWhole)),
  job('durable-1', 'one at a time, each synced', prepareDurable, measureAppend('durable', appendUntil(1))),
  job('durable-256', '256 in flight, each synced', prepareDurable, measureAppend('durable', appendUntil(256))),
  job('scan', 'every record’s bytes, in order', fillStores('scan', 'records'), measureRead('read', scan)),
  job('query', 'value.content.root == X, among all', fillStores('query', 'hits'), measureRead('query', query)),
  job('get', 'by key, at random, 16 in flight', fillStores('get'), measureRead('read', get)),
  {
    name: 'bench-flumelog',
    what: 'the bench of the flume family, as it is: records of some 147 bytes, 16 appends under way, 1024 gets',
    peers: Object.fromEntries(peers.flatMap(({ name, openFlumelog }) => openFlumelog ? [[name, {}]] : [])),
    figures: FLUMELOG_CASES.map((name) => ({ figure: toFigureName(name), what: name, unit: 'rate' })),
    needs: { 'bench-flumelog': () => loadPeer('bench-flumelog') },
    runs: 2,
    isLast: true,
    timeoutMs: FLUMELOG_MS,
    measure: async ({ peer, folder }) => ({ figures: await runBenchFlumelog(/** @type {Peer} */ (peer), folder) })
  }
]

/** @type {(name: string, what: string, prepare: Row['prepare'], measure: Row['measure']) => Row} */
function job (name, what, prepare, measure) {
  const own = peers.filter(({ store }) => store === undefined || name === 'query')
  return {
    name,
    what,
    peers: Object.fromEntries(own.map(({ name }) => [name, {}])),
    cannot: Object.fromEntries(peers.flatMap((peer) => peer.cannot?.[name] ? [[peer.name, peer.cannot[name]]] : [])),
    figures: [{ figure: 'rate', unit: 'rate', by: 'checked', drawn: name }],
    prepare,
    measure
  }
}

/** @param {Context} context */
async function openSource ({ options, generated, once }) {
  const source = await once('source', () => findSource(options, generated))
  const { json, binary, records } = source
  const size = (/** @type {string} */ file) => `${Math.round(fs.statSync(file).size / records)} bytes`
  once('input', () => `${formatCount(records)} messages of ${size(binary)} in the binary format, ${size(json)} as JSON`)
  return source
}

/** @param {Context} context */
async function prepareAppend (context) {
  const { binary, records } = await openSource(context)
  return { source: binary, answers: { '': { records } } }
}

/** Durable appends go on for a time, so their number differs between peers. @param {Context} context */
async function prepareDurable (context) {
  const { binary } = await openSource(context)
  return { source: binary }
}

/**
 * Fills a store of each peer with all messages. This is not measured.
 * @param {string} job
 * @param {'records' | 'hits'} [counted]  what of the messages all peers must find
 * @returns {(context: Context) => Promise<object>}
 */
function fillStores (job, counted) {
  return async (context) => {
    const source = await openSource(context)
    const { shared, once } = context
    /** @type {Peer[]} */
    const readers = context.options.peers.filter((/** @type {Peer} */ { store }) => store === undefined || job === 'query')
    /** @type {Record<string, string>} */
    const cannot = {}
    await takeTurns(`filling stores for ${job}`, readers, ({ name }) => name, async (peer) => {
      const reads = job === 'query' ? peer.queried : 'binary'
      const folder = toFolder(shared, peer, reads)
      try {
        fs.mkdirSync(folder, { recursive: true })
        const setting = { folder, reads, source: source[reads] }
        await once(folder, () => runTask({ module: __filename, task: 'fill', setting }, { peer }, { timeoutMs: FILL_MS }))
      } catch (err) {
        if (!(err instanceof ChildError) || peer.kind === 'millrace') throw err
        cannot[peer.name] = err.reason
      }
    })
    const { query, records: total } = source
    return { stores: shared, query, total, cannot, answers: { '': counted ? { [counted]: source[counted] } : {} } }
  }
}

/** @type {(stores: string, peer: Peer, reads: 'binary' | 'json') => string} */
function toFolder (stores, { name, store = name }, reads) {
  return path.join(stores, `${store}.${reads}`)
}

/** @type {Append} */
async function appendWhole (store, records) {
  await appendAll(store, records, BATCH_COUNT)
  return records.length
}

/** @type {(appenders: number) => Append} */
function appendUntil (appenders) {
  return (store, records) => {
    const end = performance.now() + SECONDS * 1000
    return appendDurably(store, records, appenders, (count) => count >= records.length || performance.now() > end)
  }
}

/** @type {Read} */
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

/** @type {Read} */
function query (store, { peer, query, total }) {
  /** @type {Array<Uint8Array | object>} */
  let hits = []
  return {
    async run () {
      hits = []
      await store.queries?.[peer.way](query, (found) => {
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

/** @type {Read} */
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
 * In a process of its own.
 * @param {{ peer: Peer, setting: { folder: string, reads: 'binary' | 'json', source: string } }} order
 */
async function fill ({ peer, setting: { folder, reads, source } }) {
  const records = await listRecords(source, toRecord)
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

/** @type {(mode: Mode, read: Read) => (order: any) => Promise<Reading>} */
function measureRead (mode, read) {
  return async ({ peer, setting, samples = SAMPLE_COUNT }) => {
    const folder = toFolder(setting.stores, peer, mode === 'query' ? peer.queried : 'binary')
    const store = await peer.open(folder, mode)
    const { prepare, run, result } = read(store, { ...setting, peer, folder })
    const { first, value: ms } = await takeSamples(samples, () => {
      prepare?.()
      return time(run)
    })
    await store.close()
    const { records, answer } = result()
    return toReading(store, { records, ms, first_ms: first }, answer)
  }
}

/**
 * Reads back what was appended and compares it.
 * @type {(mode: Mode, append: Append) => (order: any) => Promise<Reading>}
 */
function measureAppend (mode, append) {
  return async ({ peer, folder, setting: { source } }) => {
    const records = await listRecords(source, toRecord)
    const store = await peer.open(folder, mode)
    let count = 0
    const ms = await time(async () => { count = await append(store, records) })
    await store.close()
    const expected = tallyOf(Array.from({ length: count }, (_, index) => records[index % records.length]))
    const written = await peer.open(folder, 'read')
    const found = await readBack(written)
    await written.close()
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      throw new Error(`appended ${JSON.stringify(expected)}, and found ${JSON.stringify(found)}`)
    }
    return toReading(store, { records: count, ms }, mode === 'append' ? found : {})
  }
}

/** @type {(store: Store, figures: { records: number, ms: number, first_ms?: number }, answer: Answer) => Reading} */
function toReading ({ packages }, figures, answer) {
  const { records, ms } = figures
  return {
    figures: { rate: ms > 0 ? records / ms * 1000 : undefined, ...figures },
    answers: { '': answer },
    ...(packages && { packages })
  }
}

/**
 * Runs bench-flumelog unchanged. It only prints its results, and has no callback, so its output is intercepted.
 * @param {Pick<Peer, 'openFlumelog' | 'fillFlumelog'>} peer
 * @param {string} folder
 * @param {(createLog: () => any) => void} [bench]
 * @returns {Promise<Record<string, number>>}  of each case the operations a second, and how many there were
 */
async function runBenchFlumelog ({ openFlumelog, fillFlumelog }, folder, bench = loadPeer('bench-flumelog')) {
  const file = path.join(folder, 'log')
  if (openFlumelog === undefined) throw new Error('is no log for bench-flumelog')
  await fillFlumelog?.(file)
  const { log: print } = console
  /** @type {Record<string, number>} */
  const figures = {}
  return new Promise((resolve) => {
    console.log = (line) => {
      // name, ops/second, mb/second, ops, total-mb, seconds
      const [name, ...texts] = String(line).split(', ')
      const [rate, , count] = texts.map(Number)
      if (texts.length !== 5 || Number.isNaN(count)) return
      if (rate > 0) Object.assign(figures, { [toFigureName(name)]: rate, [`${toFigureName(name)}_count`]: count })
      if (name !== FLUMELOG_CASES[FLUMELOG_CASES.length - 1]) return
      console.log = print
      resolve(figures)
    }
    bench(() => openFlumelog(file))
  })
}

/** Markers in pages have a space between two words. @param {string} name */
function toFigureName (name) {
  return name.replaceAll(' ', '-')
}

exports.fill = fill
exports.runBenchFlumelog = runBenchFlumelog
