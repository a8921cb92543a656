'use strict'
// A power cut, or the end of the process, at every step of a log's life. `npm run torture:segments` does more of it.

const tape = require('tape')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { runRound } = require('../segments/crash-story')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const IMAGE_COUNT = isLongRun ? 10_000 : 600
const WINDOWS_COUNT = isLongRun ? 5000 : 150

/** @type {(t: any, count: number, options: object) => Promise<void>} */
async function crash (t, count, options) {
  const random = createRandom(seed)
  let images = 0
  while (images < count) {
    const { imageCount, faults } = await runRound(random, options)
    images += imageCount
    for (const fault of faults) t.fail(fault)
    if (isLongRun) t.comment(`${images} of ${count} images`)
  }
  t.pass(`${images} images`)
}

tape(`crash: at every step, nothing promised is lost and nothing is left behind (seed ${seed})`, (t) => {
  return crash(t, IMAGE_COUNT, {})
})

tape(`crash, as on Windows: the same, and a log is never in its own way (seed ${seed})`, (t) => {
  return crash(t, WINDOWS_COUNT, { isWindows: true, imageEvery: 8 })
})
