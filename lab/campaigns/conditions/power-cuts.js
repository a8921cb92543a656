// @ts-nocheck
'use strict'
// Histories on a simulated disk, whose power is cut, or whose process ends, at any step: the log that is opened then
// keeps every condition, and goes on to keep them.

const { SimulatedDisk } = require('@millrace/testkit')
const { History, chooseSetting, examine, openLog } = require('./history')

const PATH = '/logs/events.log'
const FOLDER = '/logs'

/**
 * @param {(limit: number) => number} random
 * @param {{ imageEvery?: number }} [options]  one step in so many is an image
 */
async function runPowerCuts (random, { imageEvery = 8 } = {}) {
  const setting = chooseSetting(random)
  const path = setting.kind === 'segments' ? FOLDER : PATH
  const history = new History()
  const images = []
  const disk = new SimulatedDisk({
    onChange: ({ name }) => {
      if (random(imageEvery) > 0) return
      const [cut, killed] = [history.mustStay(), history.mustStayAfterKill()]
      images.push({ name, disk: disk.clone({ onChange: null }), cut, killed })
    }
  })
  for (let session = 0; session < 2; session++) {
    const log = openLog(setting, path, disk.storage)
    await log.ready()
    if (random(2) === 0 && setting.isIndexed) await log.index.ready()
    await history.play(log, setting, random, { callerCount: 2 + random(6), stepCount: 2 + random(6) })
    await log.close()
  }
  const faults = [...history.faults]
  for (const { name, disk, cut, killed } of images) {
    for (const [how, after, mustStay] of [['power cut', disk.crash(random), cut], ['kill', disk, killed]]) {
      const found = await goOn(setting, path, after, mustStay, random).catch((err) => [err.stack])
      faults.push(...found.map((fault) => `${how} before ${name} (${JSON.stringify(setting)}): ${fault}`))
    }
  }
  const { acceptedCount, refusedCount } = history
  return { images: 2 * images.length, acceptedCount, refusedCount, faults }
}

/** @returns {Promise<string[]>}  what is wrong with the log after a crash, and after it has gone on */
async function goOn (setting, path, disk, mustStay, random) {
  const log = openLog(setting, path, disk.storage)
  await log.ready()
  if (random(3) === 0 && setting.isIndexed) await log.index.ready()
  const { faults, last } = await examine(log, mustStay)
  const history = new History(last + 1)
  await history.play(log, setting, random, { callerCount: 3, stepCount: 2 })
  const { faults: later } = await examine(log, new Set([...mustStay, ...history.accepted.keys()]))
  await log.close()
  return [...faults, ...history.faults, ...later]
}

exports.runPowerCuts = runPowerCuts
