'use strict'
// Appends with conditions keep them through power cuts and kills. `node lab/campaigns/conditions` does more of it.

const path = require('node:path')
const tape = require('tape')
const { createRandom, isLongRun, newPath } = require('@millrace/testkit')
const { examine, openLog } = require('../campaigns/conditions/history')
const { runHttp } = require('../campaigns/conditions/http')
const { runKills } = require('../campaigns/conditions/kills')
const { runPowerCuts } = require('../campaigns/conditions/power-cuts')
const { loadModules, playSmallLog } = require('../campaigns/conditions/small-logs')

const seed = Number(process.env.MILLRACE_SEED) || (isLongRun ? Date.now() % 2 ** 31 : 1)
const ROUND_COUNT = isLongRun ? 500 : 4
const SMALL_COUNT = isLongRun ? 5000 : 20
const HTTP_COUNT = isLongRun ? 50 : 1
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

tape(`conditions: in small logs each answer is what a model says (seed ${seed})`, async (t) => {
  const modules = loadModules(path.dirname(require.resolve('@millrace/offset-log')))
  let count = 0
  for (let log = 0; log < SMALL_COUNT; log++) {
    const { histories, faults } = await playSmallLog(modules, createRandom(seed + log))
    count += histories
    for (const fault of faults) t.fail(`seed ${seed + log}: ${fault}`)
  }
  t.pass(`${count} histories`)
})

tape(`conditions: none is broken over HTTP, by threads, while the server is killed (seed ${seed})`, async (t) => {
  let again = 0
  for (let log = 0; log < HTTP_COUNT; log++) {
    const { faults, againCount } = await runHttp(seed + log)
    again += againCount
    for (const fault of faults) t.fail(fault)
  }
  t.pass(`${again} requests were sent again`)
})

tape('conditions: one that was broken is seen, and so is a promise', async (t) => {
  const setting = { kind: 'checked', fsync: 'never', isIndexed: true, tuning: {} }
  const log = openLog(setting, newPath('events.log'))
  const first = await log.append({ n: 0, key: 1, batch: 0, since: null })
  await log.append({ n: 1, key: 1, batch: 1, since: first })
  t.deepEqual((await examine(log, new Set([0, 1]))).faults, [])
  // Somebody else has appended after the first one.
  await log.append({ n: 2, key: 1, batch: 2, since: first })
  const { faults } = await examine(log, new Set([3]))
  t.match(faults[0], /and batch 2 is there/)
  t.match(faults[1], /batch 3 was promised/)
  await log.close()
})
