'use strict'
// The peak memory of a process that only reads a log, less that of one that does nothing.

const { memoryOf } = require('../../lib/measure')
const { runTask } = require('../../lib/run')

const BLOCK_SIZE = 64 * 1024

/** They load no more than they need. @type {Record<string, (path: string) => Promise<number>>} */
const WORKS = {
  bare: async () => 0,
  async scan (path) {
    const log = require('@millrace/offset-log').OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
    let records = 0
    await log.scan({}, ({ count }) => { records += count })
    await log.close()
    return records
  },
  async flumelog (path) {
    const pull = require('pull-stream')
    const log = require('flumelog-offset')(path, { blockSize: BLOCK_SIZE, flags: 'r' })
    await new Promise((resolve) => log.since.once(resolve))
    let records = 0
    await new Promise((resolve) => pull(log.stream(), pull.drain(() => { records++ }, resolve))).then((err) => {
      if (err) throw err
    })
    return records
  }
}

/**
 * In a process of its own.
 * @type {(order: { work: string, path: string }) => Promise<{ records: number, peak: number }>}
 */
async function read ({ work, path }) {
  const records = await WORKS[work](path)
  return { records, peak: memoryOf('self', 'VmHWM') }
}

/**
 * @param {'scan' | 'flumelog'} work
 * @param {string} path
 * @param {number} [fold]  multiplies the number of records in the answer, if the other side's log is larger
 * @returns {import('./runners').Runner}
 */
function measurePeak (work, path, fold = 1) {
  const run = (/** @type {string} */ work) => runTask({ module: __filename, task: 'read', work, path }, {})
  let records = 0
  return {
    async sample () {
      const found = await run(work)
      records = found.records
      return found.peak - (await run('bare')).peak
    },
    finish: () => ({ records: fold * records })
  }
}

exports.measurePeak = measurePeak
exports.read = read
