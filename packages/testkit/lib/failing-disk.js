'use strict'
// A disk of which one call fails, or several in a row, in the ways that file systems have; and work that is done once
// for each call that can fail.

const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { SimulatedDisk } = require('./simulated-disk')

/** So many turns of 1 ms: a call that takes more hangs, because the disk is in memory. */
const TURN_COUNT_MAX = 20_000
/** So many turns before them take no time. */
const QUICK_COUNT = 50

/** The codes of failures, and the calls that each is usual for. `short` transfers half of the bytes. */
const CODES = Object.freeze({
  ENOSPC: /^(create|write|rename)$/,
  EDQUOT: /^(create|write|rename)$/,
  EIO: /./,
  EMFILE: /^(open|listFolder|freeSize)$/,
  EACCES: /^(open|rename|unlink|listFolder|copyOwnership)$/,
  EROFS: /^(open|write|truncate|rename|unlink|copyOwnership)$/,
  short: /^(read|write)$/
})
/** How many calls fail, from the one that is chosen on. */
const SPANS = Object.freeze({ once: 1, 'for a while': 12, always: Infinity })
const SYNC_CALLS = ['openSync', 'renameSync', 'unlinkSync', 'syncFolderSync', 'writeSync', 'syncSync', 'truncateSync']

/**
 * @typedef {object} Failing
 * @property {keyof typeof CODES} code
 * @property {number} at  the index of the call that fails, of those that the code is usual for
 * @property {number} span  how many fail, from there on
 * @property {boolean} [isAsync]  whether the storage has no synchronous calls; false by default
 * @property {(call: import('./simulated-disk').Call) => boolean} [counts]  which calls may fail; all by default
 */

/** A disk of which calls fail until it is mended. It knows what is open. */
class FailingDisk {
  #failing
  #counts

  /** @param {Failing} failing  @param {SimulatedDisk} [before]  what the disk has at first */
  constructor (failing, before = new SimulatedDisk()) {
    this.#failing = failing
    this.#counts = failing.counts ?? (() => true)
    this.callCount = 0
    /** Whether no call fails any more. */
    this.isMended = false
    /** The calls that have failed. @type {string[]} */
    this.failed = []
    this.disk = before.clone({ decide: (call) => this.#decide(call) })
    /** @type {Map<string, number>} */
    this.open = new Map()
    this.storage = this.#createStorage()
  }

  #createStorage () {
    const { disk } = this
    /** @type {any} */
    const inner = disk.storage
    /** @type {Record<string, (...args: any[]) => any>} */
    const storage = {
      ...inner,
      open: (file, options, cb) => {
        inner.open(file, options, (/** @type {any} */ err, /** @type {any} */ handle) => {
          cb(err, handle && this.#count(file, handle))
        })
      },
      openSync: (file, options) => this.#count(file, inner.openSync(file, options)),
      copyOwnership: (from, to, cb) => disk._answer({ name: 'copyOwnership', path: to }, cb, () => {}),
      freeSize: (folder, cb) => disk._answer({ name: 'freeSize', path: folder }, cb, () => 1e12)
    }
    return this.#failing.isAsync ? withoutSync(storage) : storage
  }

  /** @type {(call: import('./simulated-disk').Call) => import('./simulated-disk').DiskFault} */
  #decide (call) {
    const { code, at, span } = this.#failing
    if (this.isMended || !this.#counts(call)) return {}
    const name = call.name === 'open' && !this.disk.list().includes(call.path) ? 'create' : call.name
    if (name === 'close' || !(CODES[code].test(name) || CODES[code].test(call.name))) return {}
    const index = this.callCount++
    if (index < at || index >= at + span) return {}
    if (code === 'short') return { length: Math.max(1, Number(call.length) >> 1) }
    this.failed.push(`${name} ${path.basename(call.path)}${call.position === undefined ? '' : ` at ${call.position}`}`)
    return { code }
  }

  /** @type {(file: string, handle: any) => any} */
  #count (file, handle) {
    const note = (/** @type {number} */ change) => this.open.set(file, (this.open.get(file) ?? 0) + change)
    note(1)
    let isOpen = true
    const close = handle.close
    handle.close = (/** @type {any} */ cb) => {
      if (isOpen) note(-1)
      isOpen = false
      close(cb)
    }
    return this.#failing.isAsync ? withoutSync(handle) : handle
  }

  /** The files that are still open. */
  get leaked () {
    return [...this.open].filter(([, count]) => count !== 0).map(([file]) => file)
  }
}

/** @param {Record<string, any>} calls */
function withoutSync (calls) {
  return Object.fromEntries(Object.entries(calls).filter(([name]) => !SYNC_CALLS.includes(name)))
}

/**
 * Waits for a call, but not forever.
 * @template T
 * @param {string} name
 * @param {Promise<T>} promise
 * @returns {Promise<T>}
 */
async function settled (name, promise) {
  const state = { isOver: false }
  const end = () => { state.isOver = true }
  promise.then(end, end)
  for (let turn = 0; !state.isOver; turn++) {
    if (turn === QUICK_COUNT + TURN_COUNT_MAX) throw Object.assign(new Error(`${name} hangs`), { isHang: true })
    await (turn < QUICK_COUNT ? new Promise(setImmediate) : sleep(1))
  }
  return promise
}

/** What one run of the work has found. */
class Run {
  /** @type {string[]} */
  problems = []

  /** @param {FailingDisk} failing */
  constructor (failing) {
    this.failing = failing
  }

  /** @param {string} problem */
  report (problem) {
    this.problems.push(problem)
  }

  /**
   * Makes a call, which may fail, but with a code and a text, and at some time.
   * @template T
   * @param {string} name
   * @param {() => T} run  may return a promise
   * @returns {Promise<{ value?: Awaited<T>, err?: any }>}
   */
  async did (name, run) {
    try {
      return { value: await settled(name, (async () => run())()) }
    } catch (/** @type {any} */ err) {
      if (err.isHang || typeof err.code !== 'string' || !err.message) this.report(`${name}: ${err.stack}`)
      return { err }
    }
  }

  /**
   * Makes a call that must succeed.
   * @template T
   * @param {string} name
   * @param {() => T} run  may return a promise
   * @returns {Promise<Awaited<T> | undefined>}
   */
  async must (name, run) {
    const { value, err } = await this.did(name, run)
    if (err) this.report(`${name} fails: ${err.stack}`)
    return value
  }
}

/**
 * Does the same work again and again; each time another call of it fails.
 * @param {object} options
 * @param {(run: Run) => Promise<any>} options.work  on `run.failing.storage`. It mends the disk in the end, and closes
 *   what it has opened
 * @param {(run: Run, disk: SimulatedDisk, where: string, found: any) => Promise<void>} options.examine  opens what is
 *   left; `found`: what `work` gave. Called for the disk as a new process finds it, and as a power cut leaves it
 * @param {(problem: string) => void} options.report  is told what is wrong
 * @param {SimulatedDisk} [options.before]  what the disk has at first
 * @param {number} [options.step]  of so many calls one fails; each one by default
 * @param {string[]} [options.codes]  all by default
 * @param {string[]} [options.spans]  all by default
 * @param {(call: import('./simulated-disk').Call) => boolean} [options.counts]  which calls may fail; all by default
 * @param {RegExp} [options.leftovers]  files that must not be there in the end
 * @returns {Promise<number>}  how many runs there were
 */
async function failEachCall (options) {
  const { step = 1, codes = Object.keys(CODES), spans = Object.keys(SPANS) } = options
  let runs = 0
  for (const code of codes) {
    for (const how of spans) {
      for (const isAsync of [false, true]) {
        const span = SPANS[/** @type {keyof typeof SPANS} */ (how)]
        for (let at = runs % step, isOver = false; !isOver; at += step, runs++) {
          const { before, counts } = options
          const failing = new FailingDisk({ code: /** @type {any} */ (code), at, span, isAsync, counts }, before)
          const problems = await runOnce(new Run(failing), options)
          isOver = failing.callCount <= at
          const where = `${code} ${how}, call ${at}${isAsync ? ', asynchronous' : ''} (${failing.failed.slice(0, 3)})`
          for (const problem of problems) options.report(`${where}: ${problem}`)
        }
      }
    }
  }
  return runs
}

/** @type {(run: Run, options: Parameters<typeof failEachCall>[0]) => Promise<string[]>} */
async function runOnce (run, { work, examine, leftovers = /\.(new|compacting|tail)$/ }) {
  const { failing } = run
  const note = (/** @type {any} */ err) => run.report(`nobody caught: ${err?.stack}`)
  const events = ['unhandledRejection', 'uncaughtException']
  for (const event of events) process.on(event, note)
  try {
    const found = await work(run)
    if (failing.leaked.length > 0) run.report(`left open: ${failing.leaked}`)
    const disks = { 'after a power cut': failing.disk.crash(() => 0), 'in a new process': failing.disk }
    for (const [where, disk] of Object.entries(disks)) {
      await examine(run, disk, where, found)
      const left = disk.list().filter((file) => leftovers.test(file))
      if (left.length > 0) run.report(`left over ${where}: ${left}`)
    }
  } catch (/** @type {any} */ err) {
    run.report(err.stack)
  }
  await new Promise(setImmediate)
  for (const event of events) process.off(event, note)
  return run.problems
}

exports.CODES = CODES
exports.FailingDisk = FailingDisk
exports.SPANS = SPANS
exports.failEachCall = failEachCall
exports.settled = settled
