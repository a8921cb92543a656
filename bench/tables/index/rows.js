'use strict'
// What an index costs, and what it gains: builds, sizes, questions, and appends beside it.

const fs = require('node:fs')
const path = require('node:path')
const { createHash } = require('node:crypto')
const { setTimeout: wait } = require('node:timers/promises')
const { Worker } = require('node:worker_threads')
const { createIndex } = require('@millrace/index')
const { findLog, openInputs } = require('../../engine/inputs')
const { describeTimes } = require('../../engine/tail')
const { memoryOf, runPipeline, takeSamples, time, timeThread } = require('../../lib/measure')
const { listRecords, openRecords } = require('../../lib/readers')
const { ChildError, runTask } = require('../../lib/run')
const { connectSqlite } = require('../../stores/databases')
const { FILLS, PATHS, SINGLE, createSqliteIndex, openIndexed, openLog, openMillrace, withIndex } = require('./clients')

/** @typedef {import('../../engine/row').Row} Row */
/** @typedef {import('../../engine/row').Goal} Goal */
/** @typedef {import('../../engine/row').Reading} Reading */
/** @typedef {import('./clients').Sample} Sample */

const FILL_MS = 5 * 60_000
const SAMPLE_COUNT = 500
/** Of the log: one in so many. */
const TIMES_SHARE = 10_000
/** For two seconds of questions, V8 compiles beside them, and pages are read for the first time. */
const WARM_MS = 3000
const ASK_MS = 250
const ASK_COUNT = 5
const CHECKED = 3
/** A program that appends 50,000 records of 200 bytes a second; for so long that runs are merged too. */
const LOAD = { records: 50, everyMs: 1, turns: 8000, warmTurns: 2000 }
/** Half a second: shorter measures differ by half from run to run. */
const APPENDS = 200_000
/** Without samples. */
const FEW = 300
const IN_FLIGHT = 256
const MIB = 2 ** 20
/** Of a process, after the first one. */
const BUILDS = 4

/** A busy machine changes it less than time on the clock. */
const env = { MILLRACE_BENCH_CLOCK: 'processor' }
/** @type {(of: string, factor: number) => import('../../engine/row').Compared} */
const than = (of, factor) => ({ factor, of })
/** @type {(names: string) => Row['peers']} */
const peers = (names) => Object.fromEntries(names.split(' ').map((name) => [name, {}]))

/**
 * `figures` of `more` come after the first one.
 * @type {(name: string, what: string, own: string, unit: import('../../engine/row').Unit, goal: Goal | undefined,
 *   measure: Row['measure'], more?: Partial<Row>) => Row}
 */
const toRow = (name, what, own, unit, goal, measure, { figures = [], ...more } = {}) => {
  const [by] = own.split(' ')
  const all = [{ figure: unit, unit, goal }, ...figures].map((figure) => ({ by, ...figure }))
  return { name, what, peers: peers(own), figures: all, env, prepare, measure, timeoutMs: FILL_MS, ...more }
}
/** @type {(name: string, what: string, own: string, goal: Goal) => Row} */
const question = (name, what, own, goal) => toRow(name, what, own, 'us', goal, measureQuestion)
const alone = { prepare: undefined }
/** @type {import('../../engine/row').Figure} */
const firstBuild = { figure: 'first', what: 'the first one of a process, which compiles the code', unit: 'ms' }

/** @type {Row[]} */
exports.parts = [
  toRow('build', 'six paths of a binary log; SQLite: five', 'millrace scan sqlite', 'ms', { within: [than('scan', 5)] }, measureBuild,
    { runs: 2, figures: [{ figure: 'path', what: 'for each path', unit: 'ms', goal: { within: [than('sqlite', 0.1)] } }, firstBuild] }),
  toRow('build-json', 'six paths of a log of JSON', 'json parse', 'ms', { within: [than('parse', 0.6)] }, measureBuild,
    { runs: 2, figures: [firstBuild] }),
  toRow('size', 'of the indexes, as a part of the log', 'millrace json sqlite', 'share',
    { most: 0.035, within: [than('sqlite', 1 / 9)] }, measureSize, { runs: 1 }),
  toRow('size-key', 'bytes that a unique key adds, for each record', 'millrace', 'count', { most: 8.5 }, measureKeySize, { runs: 1 }),
  question('equal', 'one record in 1,000, all of them', 'millrace json scan sqlite jitdb',
    { times: [than('scan', 40)], within: [than('sqlite', 0.9), than('jitdb', 0.5)] }),
  question('unique', 'by a unique key', 'millrace json sqlite jitdb lmdb', { within: [than('sqlite', 1.2)] }),
  question('absent', 'a key that is not there; Millrace: 300 runs', 'millrace sqlite', { most: 12 }),
  question('newest', 'the newest 20 of an author', 'millrace json sqlite jitdb', { within: [than('sqlite', 1.2), than('jitdb', 0.25)] }),
  question('newest-two', 'the newest 20 posts of an author', 'millrace json sqlite composite jitdb', { within: [than('sqlite', 0.75), than('composite', 1.2)] }),
  question('count-third', 'how many votes: a third of the log', 'millrace json sqlite jitdb', { most: 60 }),
  question('count-author', 'how many of an author', 'millrace json sqlite jitdb', { most: 20 }),
  question('times', 'a span of time: one in 10,000', 'millrace sqlite', { most: 300 }),
  toRow('append', 'a record of 200 bytes, in the thread that appends', 'builder millrace scan', 'us', { within: [than('scan', 1.05)] }, measureAppends, alone),
  toRow('append-p99', '50,000 a second: the slowest of 100', 'builder millrace scan', 'us', { within: [than('scan', 1.1)] }, measureLoad, { ...alone, env: {} }),
  toRow('append-if', 'the same, if its key is new, 256 under way', 'millrace scan', 'us', { within: [than('scan', 1 / 0.55)] }, measureAppendIf, alone),
  toRow('memory', 'of a process that asks 500 times; or scans', 'millrace scan', 'bytes', { above: [{ by: 32 * MIB, of: 'scan' }] }, measureMemory)
]

/**
 * Fills the stores of all peers that take part in any row.
 * @param {import('../../engine/row').Context} context
 */
async function prepare (context) {
  const { shared, once, options } = context
  const { source } = await openInputs(context)
  const sources = { binary: await findLog(context, { log: 'binary', framing: 'checked' }), json: await findLog(context, { log: 'json', framing: 'checked' }) }
  const folder = path.join(shared, 'stores')
  fs.mkdirSync(folder, { recursive: true })
  const setting = { folder, sources, root: source.query, records: source.records }
  await once('sample', () => runTask({ module: __filename, task: 'sample', setting }, {}, { timeoutMs: FILL_MS }))
  /** @type {Record<string, string>} */
  const cannot = {}
  for (const { name, stores, kind } of options.peers) {
    if (!options.rows.some((/** @type {Row} */ row) => row.prepare && row.peers[name])) continue
    for (const store of stores) {
      try {
        await once(`store ${store}`, () => runTask({ module: __filename, task: 'fill', store, setting }, {}, { timeoutMs: FILL_MS }))
      } catch (err) {
        if (!(err instanceof ChildError) || kind === 'millrace') throw err
        cannot[name] = err.reason
      }
    }
  }
  return { ...setting, cannot }
}

/** In a child: chooses what is asked for. @param {{ setting: any }} order */
async function sample ({ setting: { folder, sources, root, records } }) {
  const log = await openLog(sources.binary, 'binary', { flags: 'r' })
  const span = Math.ceil(records / TIMES_SHARE)
  const every = Math.max(span + 1, Math.floor(records / SAMPLE_COUNT))
  /** @type {Sample} */
  const found = { keys: [], authors: [], times: [], root, records }
  let [index, from] = [0, 0]
  for await (const { key, timestamp, value: { author } } of log.stream({ seqs: false })) {
    if (index % every === 0) {
      found.keys.push(key)
      found.authors.push(author)
      from = timestamp
    }
    if (index++ % every === span) found.times.push([from, timestamp])
  }
  const count = found.times.length
  fs.writeFileSync(path.join(folder, 'sample.json'), JSON.stringify({ ...found, keys: found.keys.slice(0, count), authors: found.authors.slice(0, count) }))
  return {}
}

/** In a child. @param {{ store: string, setting: any }} order */
async function fill ({ store, setting }) {
  await FILLS[store](setting, path.join(setting.folder, store), readSample(setting))
  return {}
}

/** @param {{ folder: string }} setting @returns {Sample} */
function readSample ({ folder }) {
  return JSON.parse(fs.readFileSync(path.join(folder, 'sample.json'), 'utf8'))
}

/**
 * Asks for a while, each time for another one, and compares some answers.
 * @param {any} order  without samples it asks a few times only
 * @returns {Promise<Reading>}
 */
async function measureQuestion ({ row, peer, setting, samples = 1 }) {
  const sample = readSample(setting)
  const count = sample.keys.length
  const { [row.name]: ask } = await peer.open(setting.folder)
  /** @type {any[]} */
  const answers = []
  for (let at = 0; at < Math.min(CHECKED, count); at++) {
    const found = await ask(at, sample)
    answers.push(typeof found === 'number' ? found : found.map((/** @type {{ key: string }} */ { key }) => key).sort())
  }
  let asked = 0
  /** At least so long, and at least once. */
  const askFor = async (/** @type {number} */ least) => {
    let ms = 0
    asked = 0
    do {
      ms += await time(async () => { for (let at = 0; at < ASK_COUNT; at++) await ask((asked + at) % count, sample) })
      asked += ASK_COUNT
    } while (ms < least)
    return ms
  }
  if (samples > 0) await askFor(WARM_MS)
  const ms = await askFor(samples > 0 ? ASK_MS : 0)
  const digest = createHash('sha256').update(JSON.stringify(answers)).digest('hex').slice(0, 16)
  return { figures: { us: 1000 * ms / asked, asked }, answers: { '': { digest } } }
}

/**
 * Scans, and builds of ours, are measured once their code is compiled; SQLite and JSON.parse have nothing to compile.
 * @param {any} order @returns {Promise<Reading>}
 */
async function measureBuild ({ row, peer: { name }, setting: { folder: stores, sources }, folder, samples = BUILDS }) {
  const own = path.join(folder, 'log')
  const codec = row.peers.json ? 'json' : 'binary'
  /** @type {Record<string, () => Promise<Reading['figures']>>} */
  const works = {
    async scan () {
      const { log } = await openRecords(sources.binary)
      const { value } = await takeSamples(Math.max(samples, 1), () => time(() => log.scan({}, () => {})))
      return { ms: value }
    },
    async parse () {
      const records = await listRecords(sources.json, (seq, buf, start, end) => Buffer.from(buf).toString('utf8', start, end))
      return { ms: await time(() => records.forEach((text) => JSON.parse(text))) }
    },
    async sqlite () {
      fs.copyFileSync(path.join(stores, 'sqlite', 'sqlite'), own, fs.constants.COPYFILE_FICLONE)
      const { db } = connectSqlite(own)
      for (const one of SINGLE) db.exec(`DROP INDEX "${one}"`)
      const ms = await time(() => SINGLE.forEach((one) => createSqliteIndex(db, one)))
      return { ms, path: ms / SINGLE.length }
    },
    async ours () {
      fs.copyFileSync(sources[codec], own, fs.constants.COPYFILE_FICLONE)
      const { first, value } = await takeSamples(samples, async () => {
        fs.rmSync(`${own}.index`, { recursive: true, force: true })
        /** @type {any} */
        let log
        const ms = await time(async () => { log = await openIndexed(own, codec, PATHS) })
        await log.close()
        return ms
      })
      return { ms: value, path: value / PATHS.length, first }
    }
  }
  return { figures: await (works[name] ?? works.ours)() }
}

/** Of its files, in bytes. @param {string} folder */
function sizeOfFolder (folder) {
  return fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0)
}

/** @param {any} order @returns {Promise<Reading>} */
async function measureSize ({ peer: { name, stores: [store] }, setting: { folder, sources } }) {
  const file = path.join(folder, store)
  const sizeOf = () => {
    if (name !== 'sqlite') return sizeOfFolder(`${file}.index`)
    const { column } = connectSqlite(path.join(file, 'sqlite'))
    return SINGLE.reduce((sum, one) => sum + column('SELECT sum(pgsize) FROM dbstat WHERE name = ?').get(one), 0)
  }
  const size = sizeOf()
  return { figures: { share: size / fs.statSync(sources[name === 'json' ? 'json' : 'binary']).size, size } }
}

/** An index of what no record has only notes where each record is. @param {any} order @returns {Promise<Reading>} */
async function measureKeySize ({ setting: { sources, records }, folder }) {
  const [least, size] = await Promise.all(['none', 'key'].map(async (name) => {
    const own = path.join(folder, name)
    fs.copyFileSync(sources.binary, own, fs.constants.COPYFILE_FICLONE)
    await openIndexed(own, 'binary', [name])
    return sizeOfFolder(`${own}.index`)
  }))
  return { figures: { count: (size - least) / records } }
}

/** An own log, with an index of the user or without. @type {(order: any) => Promise<any>} */
async function openOwn ({ peer: { name }, folder }) {
  const file = path.join(folder, 'log')
  const worker = name === 'builder' ? new Worker(require.resolve('./builder'), { workerData: file }) : undefined
  const state = { isOpen: worker === undefined }
  worker?.on('message', ({ kind }) => { state.isOpen ||= kind === 'opened' })
  const index = name === 'scan' ? undefined : createIndex(['user', 'type'], { builder: worker })
  const log = await openLog(file, 'json', { fsync: 'never', ...index && { index } })
  // A builder does not keep the process running.
  while (!state.isOpen) await wait(1)
  return log
}

/** Some 200 bytes. @param {number} n */
const createEvent = (n) => ({ type: n % 3 === 0 ? 'vote' : 'post', user: `@user ${n}`, text: 'what happened, in some words '.repeat(5) })

/**
 * Of the thread that appends, with what the index does there in the background.
 * @param {any} order
 * @returns {Promise<Reading>}
 */
async function measureAppends (order) {
  const log = await openOwn(order)
  const count = order.samples === 0 ? FEW : APPENDS
  const appendAll = async (/** @type {number} */ from) => {
    await runPipeline(count, IN_FLIGHT, (index, cb) => log.append(createEvent(from + index), cb))
    await log.index?.ready()
  }
  await appendAll(0)
  const started = performance.now()
  const ms = await timeThread(() => appendAll(count))
  const wallMs = performance.now() - started
  return { figures: { us: 1000 * ms / count, wall: 1000 * wallMs / count } }
}

/** @param {any} order @returns {Promise<Reading>} */
async function measureLoad (order) {
  const log = await openOwn(order)
  /** @type {number[]} */
  const times = []
  /** @type {Promise<unknown>[]} */
  const answers = []
  const started = performance.now()
  const { turns, warmTurns } = order.samples === 0 ? { turns: 2, warmTurns: 1 } : LOAD
  for (let turn = 0; turn < turns; turn++) {
    const due = started + turn * LOAD.everyMs
    while (performance.now() < due) await new Promise(setImmediate)
    const batch = Array.from({ length: LOAD.records }, (_, index) => createEvent(turn * LOAD.records + index))
    answers.push(log.append(batch).then(() => { times.push(1000 * (performance.now() - due)) }))
  }
  await Promise.all(answers)
  const { figures } = describeTimes(times.slice(warmTurns))
  return { figures: { us: figures.p99, p50: figures.p50 } }
}

/** Nobody else may have the key since the log was opened. @param {any} order @returns {Promise<Reading>} */
async function measureAppendIf (order) {
  const log = await openOwn(order)
  const isBare = order.peer.name !== 'millrace'
  const count = order.samples === 0 ? FEW : APPENDS
  const appendAll = (/** @type {number} */ from) => runPipeline(count, IN_FLIGHT, (index, cb) => {
    const event = createEvent(from + index)
    if (isBare) log.append(event, cb)
    else log.append(event, { if: { where: { path: 'user', equals: event.user }, since: -1 } }, cb)
  })
  await appendAll(0)
  const ms = await time(() => appendAll(count))
  return { figures: { us: 1000 * ms / count } }
}

/** With the cache that a log has by default. @param {any} order @returns {Promise<Reading>} */
async function measureMemory ({ peer, setting }) {
  const sample = readSample(setting)
  const options = { ...withIndex(peer.name === 'scan' ? null : PATHS), cache: undefined }
  const { newest } = await openMillrace(path.join(setting.folder, 'binary'), 'binary', options)
  for (let at = 0; at < (peer.name === 'scan' ? 1 : sample.authors.length); at++) await newest(at, sample)
  return { figures: { bytes: memoryOf('self', 'VmHWM') } }
}

exports.fill = fill
exports.sample = sample
