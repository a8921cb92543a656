'use strict'
// Lets the logs grow from size to size, and measures each of them at each, in turn.

const fs = require('node:fs')
const path = require('node:path')
const { MeasureError } = require('../../lib/measure')
const { createProgress } = require('../../lib/progress')
const { ChildError, runChild } = require('../../lib/run-child')
const { formatSize } = require('./options')

const CHILD = path.join(__dirname, '..', 'child.js')
const WARM_SIZE = 1024 * 1024

/** @typedef {import('./shapes').Measurement} Measurement */

/**
 * @param {import('./options').Options} options
 * @param {string} folder  for the logs
 * @returns {Promise<{ measurements: Measurement[], idleMemory: number }>}
 */
async function runSizes ({ sizes, framings, runs }, folder) {
  const { peakMemory: idleMemory } = await runTask('rest', {})
  /** @type {Measurement[]} */
  const measurements = []
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const progress = createProgress(`growing to ${formatSize(sizes[sizes.length - 1])}`, total)
  let done = 0
  for (const wanted of sizes) {
    const logs = framings.map((framing) => ({ framing, file: path.join(folder, framing), size: 0 }))
    for (const log of logs) {
      progress.update(done, `${log.framing}, ${formatSize(wanted)}`)
      Object.assign(log, await runTask('grow', { file: log.file, framing: log.framing, size: wanted }))
      warm(log.file)
    }
    for (let run = 1; run <= runs; run++) {
      // Another one first in each round.
      for (const { framing, file, size } of run % 2 === 1 ? logs : [...logs].reverse()) {
        const opened = await runTask('open', { file })
        const scanned = await runTask('scan', { file })
        measurements.push({ framing, wanted, size, run, ...opened, ...scanned })
      }
    }
    done += wanted
  }
  progress.end()
  return { measurements, idleMemory }
}

/**
 * @param {string} task
 * @param {object} order
 */
async function runTask (task, order) {
  try {
    return await runChild(CHILD, { task, ...order })
  } catch (err) {
    throw err instanceof ChildError ? new MeasureError(`${task}: ${err.message}`) : err
  }
}

/**
 * Into the page cache, as far as there is room for it.
 * @param {string} file
 */
function warm (file) {
  const buf = Buffer.alloc(WARM_SIZE)
  const fd = fs.openSync(file, 'r')
  while (fs.readSync(fd, buf, 0, WARM_SIZE, null) > 0);
  fs.closeSync(fd)
}

exports.runSizes = runSizes
