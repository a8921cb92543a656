'use strict'
// What a measuring process does: it fills an outlet, makes producers wait for the disk, times each call, lets threads
// fill an outlet each, or does the work of another module. Everything that was written is counted afterwards, from the
// files.

const fs = require('node:fs')
const path = require('node:path')
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')
const { shareAt } = require('../../engine/tail')
const { time } = require('../../lib/measure')
const { createPrng } = require('../../lib/prng')
const { median } = require('../../lib/report')
const { burst, openForwarded, outage, takeSlowly } = require('./forwarding')
const { measureMemory } = require('./memory')
const outlets = require('./outlets')
const { measureClock, measureQueue, measureReuse } = require('./parts')

/** @typedef {import('./outlets').Peer} Peer */
/** @typedef {import('./outlets').Outlet} Outlet */
/** @typedef {import('./outlets').Entry} Entry */
/** @typedef {Record<string, number>} Figures */

/**
 * @typedef {object} Setting
 * @property {string} folder  of this case
 * @property {number} size  of a record, in bytes of JSON
 * @property {number} count  of records
 * @property {'objects' | 'lines'} [input]  what is written: objects by default, or their JSON
 * @property {Record<string, unknown>} [context]  more fields of each record
 * @property {'error' | 'half'} [levels]  info by default; half: first as many info as error records
 * @property {number} [flushEvery]  flushes after so many records
 * @property {number} [appenders]  so many producers wait for the disk after each record
 * @property {number} [seconds]  the producers stop after this time
 * @property {number} [threads]
 * @property {number} [samples]  after those that warm the code
 * @property {any} [options]  of the outlet
 */

const DISTINCT = 1000
const SEED = 19
const TIME = 1_700_000_000_000
const LEVELS = { info: 30, error: 50 }
const WORDS = ['connection', 'accepted', 'request', 'finished', 'timeout', 'upstream', 'cache', 'miss', 'retry', 'after', 'user', 'session']
// A sample of few records says little, so there are many of them.
const WARM_COUNT = 30_000
const SINK_WARM_COUNT = 1000
const SAMPLE_COUNT = 3
const SMALL_COUNT = 2000
const SMALL_SAMPLE_COUNT = 25

/** @type {(setting: Setting) => Entry[]} records whose JSON has exactly this size */
function createEntries ({ size, context = {}, levels }) {
  const prng = createPrng(SEED)
  return Array.from({ length: DISTINCT }, (_, index) => {
    const isError = levels === 'error' || (levels === 'half' && index >= DISTINCT / 2)
    const entry = { level: LEVELS[isError ? 'error' : 'info'], time: TIME + index, pid: 4242, ...context, msg: '' }
    const missing = size - JSON.stringify(entry).length
    let msg = ''
    while (msg.length < missing) msg += `${WORDS[prng.below(WORDS.length)]} `
    entry.msg = msg.slice(0, Math.max(0, missing))
    return entry
  })
}

/** @type {(outlet: Outlet, setting: Setting) => { records: any[], levels: Array<'info' | 'error'> }} */
function createInput ({ toRecord = (/** @type {Entry} */ entry) => entry }, setting) {
  const entries = createEntries(setting)
  const records = setting.input === 'lines' ? entries.map((entry) => JSON.stringify(entry)) : entries.map(toRecord)
  return { records, levels: entries.map(({ level }) => level === LEVELS.error ? 'error' : 'info') }
}

/** @type {(order: any) => Promise<import('../../engine/row').Reading>} */
async function measure ({ row, peer, side: options, setting: given, folder, samples = given.samples }) {
  const setting = { ...given, folder, options, ...(samples !== undefined && { samples }) }
  const found = peer.measure
    ? await peer.measure(row.work, { ...setting, records: createEntries(setting) })
    : await WORKS[row.work](peer, setting)
  const figures = row.figures.map((/** @type {{ figure: string }} */ { figure }) => [figure, found[figure]])
  return { figures: Object.fromEntries(figures), ...(peer.findPackages && { packages: peer.findPackages() }) }
}

/**
 * Opens an outlet, lets `use` write, and counts what is stored afterwards: that must be as many as `use` says.
 * @template Value
 * @param {Peer} peer
 * @param {Setting} setting
 * @param {(outlet: Outlet, input: ReturnType<typeof createInput>) => Promise<{ count: number, value: Value }>} use
 * @param {number} [index]  of its folder
 */
async function withOutlet (peer, setting, use, index = 0) {
  const folder = makeFolder(setting.folder, index)
  const outlet = await open(peer, folder, setting)
  const { count, value } = await use(outlet, createInput(outlet, setting))
  await outlet.close()
  await check(peer, folder, count)
  fs.rmSync(folder, { recursive: true })
  return value
}

/** @type {Record<string, (peer: Peer, setting: Setting) => Promise<Figures>>} */
const WORKS = {
  /** Records a second, until everything is in the kernel. The first samples compile the code. */
  async fill (peer, setting) {
    const { count, samples = count <= SMALL_COUNT ? SMALL_SAMPLE_COUNT : SAMPLE_COUNT } = setting
    const warmCount = Math.max(1, Math.ceil(WARM_COUNT / count))
    /** @type {number[]} */
    const rates = []
    for (let sample = 0; sample < warmCount + samples; sample++) {
      rates.push(await withOutlet(peer, setting, async (outlet, input) => {
        begin(outlet, input)
        const ms = await time(() => fill(outlet, input, setting))
        return { count: 1 + count, value: count / ms * 1000 }
      }, sample))
    }
    return { rate: median(rates.slice(warmCount)) }
  },

  /** Records a second by producers that each wait until their record is on the disk. */
  async wait (peer, { seconds = 1, appenders = 1, ...setting }) {
    return withOutlet(peer, setting, async (outlet, { records, levels }) => {
      const endMs = performance.now() + seconds * 1000
      let count = 0
      const ms = await time(() => Promise.all(Array.from({ length: appenders }, async () => {
        while (performance.now() < endMs) {
          const index = count++ % DISTINCT
          outlet.write(records[index], levels[index])
          if (appenders > 1) await outlet.flushed?.()
        }
      })))
      await outlet.end()
      return { count, value: { rate: count / ms * 1000 } }
    })
  },

  /** The time of each call, in us. */
  async latency (peer, setting) {
    return describeTimes(await withOutlet(peer, setting, async (outlet, { records, levels }) => {
      const value = await timeCalls(setting.count, WARM_COUNT, (at) => outlet.write(records[at], levels[at]))
      await outlet.end()
      return { count: setting.count + WARM_COUNT, value }
    }))
  },

  /** The same beside a sink that takes 2 ms for a record. */
  async sink (_, setting) {
    const records = createEntries(setting)
    const { log, writer, forwarder } = await openForwarded(setting.folder, takeSlowly)
    const times = await timeCalls(setting.count, SINK_WARM_COUNT, (at) => writer.write(records[at]))
    await writer.close()
    if (await log.count() !== setting.count + SINK_WARM_COUNT) throw new Error('a record is not in the log')
    await forwarder.close()
    await log.close()
    return describeTimes(times)
  },

  burst: (_, setting) => burst(setting),
  outage: () => outage(),
  memory: async ({ name }, { folder, options }) => measureMemory(name, folder, options ?? {}),
  queue: (_, setting) => measureQueue(setting),
  clock: () => measureClock(),
  reuse: (_, setting) => measureReuse(setting),

  /** Records a second of all threads, each with an outlet of its own or all with one, until the last one has ended. */
  async threads (peer, { threads = 1, ...setting }) {
    const folders = Array.from({ length: threads }, (_, index) => makeFolder(setting.folder, index))
    const shared = await peer.share?.(setting.folder)
    const workers = folders.map((folder) => {
      const channel = shared?.connect()
      const options = { ...setting.options, ...(channel && { channel }) }
      const workerData = { peer: peer.name, setting: { ...setting, options }, folder }
      return new Worker(__filename, { workerData, transferList: channel ? [channel.port] : [] })
    })
    const hear = () => Promise.all(workers.map((worker) => new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject)
    })))
    const tell = () => { for (const worker of workers) worker.postMessage('go') }
    await hear()
    const ms = await time(async () => {
      tell()
      await hear()
      shared?.end()
    })
    tell()
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))))
    await shared?.close()
    if (shared) await check(peer, setting.folder, threads * (WARM_COUNT + 1 + setting.count))
    else for (const folder of folders) await check(peer, folder, 1 + setting.count)
    return { rate: threads * setting.count / ms * 1000 }
  }
}

/** @type {(outlet: Outlet, input: ReturnType<typeof createInput>, setting: Setting) => Promise<void>} */
async function fill (outlet, { records, levels }, { count, flushEvery = Infinity }) {
  for (let index = 0; index < count; index++) {
    // The level of a record depends on its place among all, whatever their number.
    const at = Math.floor(index % DISTINCT * (count < DISTINCT ? DISTINCT / count : 1))
    outlet.write(records[at], levels[at])
    if ((index + 1) % flushEvery === 0) outlet.flush?.(false)
  }
  await outlet.end()
}

/**
 * The first record makes files longer, and what else happens only once.
 * @type {(outlet: Outlet, input: any) => void}
 */
function begin (outlet, { records }) {
  outlet.write(records[0], 'error')
  outlet.flush?.(false)
}

/**
 * The time of each call, in us, after those that warm the code. The event loop has a turn after every hundred.
 * @type {(count: number, warmCount: number, write: (at: number) => unknown) => Promise<Float64Array>}
 */
async function timeCalls (count, warmCount, write) {
  const times = new Float64Array(count)
  for (let index = -warmCount; index < count; index++) {
    const at = (index + warmCount) % DISTINCT
    const began = performance.now()
    write(at)
    if (index >= 0) times[index] = 1000 * (performance.now() - began)
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return times
}

/** @type {(peer: Peer, folder: string, setting: Setting) => Outlet | Promise<Outlet>} */
function open ({ name, open }, folder, { options = {} }) {
  if (open === undefined) throw new Error(`${name} cannot do this`)
  return open(folder, options)
}

/** @type {(peer: Peer, folder: string, count: number) => Promise<void>} */
async function check ({ count: countRecords }, folder, count) {
  const found = await countRecords?.(folder)
  if (found !== count) throw new Error(`wrote ${count} records and found ${found}`)
}

/** @type {(root: string, index: number) => string} */
function makeFolder (root, index) {
  const folder = path.join(root, String(index))
  fs.mkdirSync(folder, { recursive: true })
  return folder
}

/** @type {(times: Float64Array) => Figures} */
function describeTimes (times) {
  const at = shareAt(times)
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), p999: at(0.999), p9999: at(0.9999), max: at(1) }
}

/** A thread warms its code, waits, fills its outlet, waits again, and closes it. */
async function runThread () {
  const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
  const { folder, setting } = workerData
  const peer = /** @type {Peer} */ (outlets.parts.find(({ name }) => name === workerData.peer))
  const next = () => new Promise((resolve) => port.once('message', resolve))
  const warm = makeFolder(`${folder}-warm`, 0)
  const other = await open(peer, warm, setting)
  await fill(other, createInput(other, setting), { ...setting, count: WARM_COUNT })
  await other.close()
  const outlet = await open(peer, folder, setting)
  const input = createInput(outlet, setting)
  begin(outlet, input)
  const begun = next()
  port.postMessage('ready')
  await begun
  await fill(outlet, input, setting)
  const ended = next()
  port.postMessage('done')
  await ended
  await outlet.close()
}

if (!isMainThread && workerData?.peer) runThread()

exports.createEntries = createEntries
exports.measure = measure
