'use strict'
// The rows of what a scan of a whole log takes of memory at most, beyond what Node takes for doing nothing.

const { spawnSync } = require('node:child_process')
const { peakMemory } = require('./peak-memory')

const PEAK_SCRIPT = require.resolve('./peak-memory')

/**
 * @param {Omit<import('./shapes').Row, 'unit' | 'samples'>} row
 * @returns {import('./shapes').Row}
 */
function createMemoryRow (row) {
  // The peak of a process is not lower the second time.
  return { ...row, unit: 'bytes', samples: 0 }
}

/**
 * @param {() => Promise<{ run: () => Promise<number>, close: () => Promise<void> }>} open  `run` gives how many records
 *   it was given
 * @param {{ fold?: number }} [options]  so many times as many records as the other side was given
 * @returns {import('./shapes').Runner}
 */
function measurePeak (open, { fold = 1 } = {}) {
  let records = 0
  return {
    async sample () {
      const { run, close } = await open()
      records = await run()
      await close()
      return peakMemory() - measureBareNode()
    },
    finish: () => ({ records: fold * records })
  }
}

/** @returns {number}  bytes */
function measureBareNode () {
  const { stdout, stderr } = spawnSync(process.execPath, [PEAK_SCRIPT], { encoding: 'utf8' })
  if (!(Number(stdout) > 0)) throw new Error(`no peak of bare Node: ${stderr}`)
  return Number(stdout)
}

/**
 * @param {number} bytes
 * @returns {import('./shapes').Side}  that measures nothing
 */
function createLimit (bytes) {
  return { open: () => ({ sample: () => bytes, finish: () => ({}) }) }
}

exports.createMemoryRow = createMemoryRow
exports.createLimit = createLimit
exports.measurePeak = measurePeak
