'use strict'
// A thread that runs one batch after the other, as it is told.

const { parentPort, workerData } = require('node:worker_threads')
const { makeSample, prepareBatch, runBatch } = require('./batch')
const { Examiner } = require('./examine')
const { toLine } = require('./replay')
const { targets } = require('./targets')

const { root, heartbeat } = workerData
const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
// Which case is at hand: when it never ends, nobody else can tell.
const current = new Float64Array(heartbeat)
const examiner = new Examiner({ root })
examiner.stage.install()
/** @type {Set<string>} */
const seen = new Set()

port.on('message', async ({ name, describe, ...options }) => {
  const target = /** @type {import('./examine').Target} */ (targets.find((target) => target.name === name))
  if (describe !== undefined) {
    return port.postMessage({ line: await describeCase(target, options.seed, describe) })
  }
  const onCase = (/** @type {number} */ index) => { current[0] = index }
  const { figures, reports } = await runBatch(examiner, { ...options, target, seen, onCase })
  port.postMessage({ figures: { ...figures }, reports })
})

/**
 * @param {import('./examine').Target} target
 * @param {number} seed
 * @param {number} index
 */
async function describeCase (target, seed, index) {
  const first = Math.floor(index / target.batchSize) * target.batchSize
  const prepared = await prepareBatch(examiner, target, seed, first)
  return toLine(target, makeSample(examiner, target, seed, index, prepared))
}
