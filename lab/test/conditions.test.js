'use strict'
// Appends with conditions keep them through power cuts and kills. `node lab/campaigns/conditions` does more of it.

const tape = require('tape')
const { createRandom, isLongRun } = require('@millrace/testkit')
const { openLog } = require('../campaigns/conditions/history')
const { runKills } = require('../campaigns/conditions/kills')
const { runPowerCuts } = require('../campaigns/conditions/power-cuts')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const ROUND_COUNT = isLongRun ? 500 : 4
const LOG_COUNT = isLongRun ? 50 : 2

tape(`conditions: none is broken after a power cut or a kill at any step (seed ${seed})`, async (t) => {
  let images = 0
  for (let round = 0; round < ROUND_COUNT; round++) {
    const result = await runPowerCuts(createRandom(seed + round))
    images += result.images
    for (const fault of result.faults) t.fail(`seed ${seed + round}: ${fault}`)
  }
  t.pass(`${images} images`)
})

tape(`conditions: none is broken by processes that are killed (seed ${seed})`, async (t) => {
  let kills = 0
  for (let log = 0; log < LOG_COUNT; log++) {
    const result = await runKills(seed + log)
    kills += result.kills
    for (const fault of result.faults) t.fail(fault)
  }
  t.pass(`${kills} kills`)
})

/** Takes every append. */
function openCareless (setting, path, storage) {
  const log = openLog(setting, path, storage)
  const { append } = log
  log.append = (values, options) => append.call(log, values, { ...options, if: undefined })
  return log
}

tape('conditions: a log that does not look at them is caught', async (t) => {
  const { faults } = await runPowerCuts(createRandom(1), { open: openCareless, imageEvery: 50 })
  t.ok(faults.some((fault) => /and batch \d+ is there/.test(fault)), `${faults.length} faults`)
})
