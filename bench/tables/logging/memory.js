'use strict'
// How much memory a process takes that logs, over one of Node.js that does nothing.

const fs = require('node:fs')
const { setTimeout: wait } = require('node:timers/promises')
const { memoryOf } = require('../../lib/measure')
const { loadParts, runTask } = require('../../lib/run')

const SECONDS = 2
const PER_SECOND = 100_000
const TURNS_PER_SECOND = 100
const BURST_COUNT = 1_000_000
const RECORD = { level: 30, time: 1_700_000_000_000, pid: 4242, msg: 'request finished '.repeat(7) }

/** @type {Record<string, (write: (record: any, level: 'info') => void) => Promise<void>>} */
const LOADS = {
  idle: () => wait(300),
  async loaded (write) {
    for (let turn = 0; turn < SECONDS * TURNS_PER_SECOND; turn++) {
      for (let n = 0; n < PER_SECOND / TURNS_PER_SECOND; n++) write({ ...RECORD, n }, 'info')
      await wait(1000 / TURNS_PER_SECOND)
    }
  },
  async peak (write) {
    for (let n = 0; n < BURST_COUNT; n++) write({ ...RECORD, n }, 'info')
  }
}

/** @type {(name: string, folder: string, options: any) => Promise<Record<string, number>>} bytes */
async function measureMemory (name, folder, options) {
  const [peer] = loadParts(require.resolve('./outlets')).filter((one) => one.name === name)
  const run = (/** @type {string} */ how, /** @type {Record<string, any>} */ parts) => {
    return runTask({ module: __filename, task: 'log', how, folder: `${folder}/${how}`, options }, parts).catch((err) => {
      // Its own words, and not where in this folder it failed.
      throw new Error(err.reason ?? err.message)
    })
  }
  const bare = await run('idle', {})
  /** @type {Record<string, number>} */
  const figures = {}
  for (const how of Object.keys(LOADS)) {
    fs.mkdirSync(`${folder}/${how}`)
    figures[how] = Math.max(0, await run(how, { peer }) - bare)
  }
  return figures
}

/**
 * In a process of its own.
 * @type {(order: { peer?: any, how: string, folder: string, options: any }) => Promise<number>}
 */
async function log ({ peer, how, folder, options }) {
  const outlet = await peer?.open(folder, options)
  await LOADS[how](outlet?.write ?? (() => {}))
  const size = memoryOf('self', how === 'peak' ? 'VmHWM' : 'VmRSS')
  await outlet?.end()
  return size
}

exports.measureMemory = measureMemory
exports.log = log
