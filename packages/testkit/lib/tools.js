'use strict'
// What most tests need: folders, random numbers, a clock that stands still, and what a call fails with.

const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { performance } = require('node:perf_hooks')

/** @type {string[]} */
const folders = []

/** @returns {string}  the path of a fresh folder for one test, gone when the process ends */
function temporaryFolder () {
  // Before all others: tape's listener ends the process.
  if (folders.length === 0) process.prependListener('exit', removeAll)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-'))
  folders.push(folder)
  return folder
}

function removeAll () {
  for (const folder of folders) {
    try {
      fs.rmSync(folder, { recursive: true, force: true })
    } catch {
      // Windows keeps files that are still open. The system clears its temporary folder in time.
    }
  }
}

/**
 * A small random generator, sfc32: the same numbers from the same seed, everywhere, and without a period.
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
 * Stops `performance.now()` of this process until the test ends. How a log reads and writes follows from how long its
 * calls take, so a test that says which way one went must not ask a machine that may be busy.
 * @param {{ teardown: (run: () => void) => void }} t  a test, of tape or of what looks like it
 * @returns {{ pass: (ms: number) => void }}  lets time pass
 */
function stopClock (t) {
  let now = performance.now()
  // An own property, over the one of the prototype.
  performance.now = () => now
  t.teardown(() => { Reflect.deleteProperty(performance, 'now') })
  return { pass: (ms) => { now += ms } }
}

/**
 * What a call fails with, for tests that compare errors.
 * @param {() => unknown} run  returns a promise, or throws
 * @returns {Promise<any>}  the error, or null
 */
async function failureOf (run) {
  try {
    await run()
    return null
  } catch (err) {
    return err
  }
}

/** Whether all of the tests are run, and not only the quick ones: `npm run test:long`. */
const isLongRun = process.env.MILLRACE_TESTS === 'long'

/**
 * @param {number} count  of random cases in a long run
 * @param {number} [divisor]
 * @returns {number}  how many there are in this run: a quick one has a quarter of them, or the part that is given
 */
function inQuickRuns (count, divisor = 4) {
  return isLongRun ? count : Math.ceil(count / divisor)
}

exports.createRandom = createRandom
exports.isLongRun = isLongRun
exports.inQuickRuns = inQuickRuns
exports.failureOf = failureOf
exports.stopClock = stopClock
exports.temporaryFolder = temporaryFolder
