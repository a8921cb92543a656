'use strict'
// Tools for most tests: folders, random numbers, a stopped clock, waiting, and the error of a call.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { performance } = require('node:perf_hooks')
const { setTimeout: sleep } = require('node:timers/promises')

const WAIT_MS_MAX = 60_000
const LOOK_MS = 5

/** @type {string[]} */
const folders = []

/**
 * Makes a folder for a test.
 * @returns {string}  the real path of a fresh folder, removed when the process ends
 */
function temporaryFolder () {
  // First of the listeners, because tape's listener ends the process.
  if (folders.length === 0) process.prependListener('exit', removeAll)
  const folder = fs.realpathSync.native(fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-')))
  folders.push(folder)
  return folder
}

/**
 * Makes a folder for a test, and names something in it.
 * @param {...string} names  of the folders on the way, which are not made, and of the file
 * @returns {string}  a path where nothing is yet
 */
function newPath (...names) {
  return path.join(temporaryFolder(), ...names)
}

function removeAll () {
  for (const folder of folders) {
    try {
      fs.rmSync(folder, { recursive: true, force: true })
    } catch {
      // Windows keeps files that are still open.
    }
  }
}

/**
 * The random generator sfc32, which has no period in practice. The same seed gives the same numbers everywhere.
 * @param {number} seed
 * @returns {(limit: number) => number}  a whole number from 0 to below the limit
 */
function createRandom (seed) {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, seed]
  return (limit) => {
    const t = (a + b + counter++) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + t | 0
    return (t >>> 0) % limit
  }
}

/**
 * Stops `performance.now()` of this process until the test ends. A log chooses how to read and write by the time that
 * its calls take, so a test of that choice must not depend on how busy the machine is.
 * @param {{ teardown: (run: () => void) => void }} t  a test of tape, or something like it
 * @returns {{ pass: (ms: number) => void }}  lets time pass
 */
function stopClock (t) {
  // Whole numbers, which add up exactly.
  let now = Math.ceil(performance.now())
  // An own property hides the one of the prototype.
  performance.now = () => now
  t.teardown(() => { Reflect.deleteProperty(performance, 'now') })
  return { pass: (ms) => { now += ms } }
}

/**
 * Replaces the wall clock of this process until the test ends: `Date.now()` and `new Date()`. Timers and
 * `performance.now()` go on.
 * @param {{ teardown: (run: () => void) => void }} t  a test of tape, or something like it
 * @param {number | string} ms  since 1970, or a text with a date
 * @returns {{ set: (ms: number | string) => void, pass: (ms: number) => void, readonly ms: number }}
 */
function fakeWallClock (t, ms) {
  const RealDate = /** @type {any} */ (Date)
  let now = new RealDate(ms).getTime()
  class FakeDate extends RealDate {
    /** @param {any[]} given */
    constructor (...given) {
      super(...(given.length === 0 ? [now] : given))
    }

    static now () { return now }
    /** @param {unknown} value */
    static [Symbol.hasInstance] (value) { return value instanceof RealDate }
  }
  globalThis.Date = /** @type {any} */ (FakeDate)
  t.teardown(() => { globalThis.Date = RealDate })
  return {
    set: (ms) => { now = new RealDate(ms).getTime() },
    pass: (ms) => { now += ms },
    get ms () { return now }
  }
}

/**
 * Runs a function and gives its error.
 * @param {() => unknown} run  may return a promise
 * @returns {Promise<any>}  the error; null if there is none
 */
async function failureOf (run) {
  try {
    await run()
    return null
  } catch (err) {
    return err
  }
}

/**
 * Reads a stream to its end.
 * @template T
 * @param {AsyncIterable<T>} source  such as `log.stream()`
 * @returns {Promise<T[]>}  all of its items
 */
async function collect (source) {
  const items = []
  for await (const item of source) items.push(item)
  return items
}

/**
 * Waits for what must happen at some time. A test that waits for a fixed time fails on a busy machine.
 * @param {() => unknown} isTrue  may return a promise. Asked again and again; after a minute an error shows its text
 */
async function until (isTrue) {
  const endMs = performance.now() + WAIT_MS_MAX
  while (!await isTrue()) {
    if (performance.now() > endMs) throw new Error(`still not true after a minute: ${isTrue}`)
    await sleep(LOOK_MS)
  }
}

/** Whether all random cases run: `npm run test:long`. */
const isLongRun = process.env.MILLRACE_TESTS === 'long'

/**
 * Says how many random cases a test should run.
 * @param {number} count  random cases of a long run
 * @param {number} [divisor]
 * @returns {number}  random cases of this run; a quick run has a quarter of them by default
 */
function inQuickRuns (count, divisor = 4) {
  return isLongRun ? count : Math.ceil(count / divisor)
}

exports.collect = collect
exports.createRandom = createRandom
exports.isLongRun = isLongRun
exports.inQuickRuns = inQuickRuns
exports.fakeWallClock = fakeWallClock
exports.failureOf = failureOf
exports.newPath = newPath
exports.stopClock = stopClock
exports.temporaryFolder = temporaryFolder
exports.until = until
