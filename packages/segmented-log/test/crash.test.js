'use strict'
// A power cut, or the end of the process, at every step of a log's life. `npm run torture:segments` does more of it.

const tape = require('tape')
const { createRandom } = require('@millrace/testkit')
const { runRound } = require('./crash-story')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const IMAGE_COUNT = 1000

tape(`crash: at every step, nothing promised is lost and nothing is left behind (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  let images = 0
  while (images < IMAGE_COUNT) {
    const { imageCount, faults } = await runRound(random)
    images += imageCount
    for (const fault of faults) t.fail(fault)
  }
  t.pass(`${images} images`)
})
