'use strict'
// A bench from options to results: find the logs, run every case, insist that the answers agree, gather.

const { performance } = require('node:perf_hooks')
const { createAgreement } = require('./agreement')
const { createInputs } = require('./inputs')
const { formatKib } = require('./format')
const { measure } = require('./measure')
const { planCases } = require('./plan')
const { createProgress } = require('./progress')
const { findSource } = require('./source')
const { scale } = require('./statistics')

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').Answer} Answer */
/** @typedef {import('./shapes').Measurement} Measurement */

/**
 * @param {import('./options').Options} options
 * @param {string} folder  for the logs that are made
 * @returns {Promise<{ measurements: Measurement[], source: import('./source').Source, skipped: number }>}
 *   `skipped` counts the second and later runs that there was no time for
 */
async function runBench (options, folder) {
  const source = await findSource(options, folder)
  const inputs = createInputs(source, folder)
  const cases = planCases({ ...options, isLong: inputs.isLong })
  await inputs.prepare(cases)

  const agree = createAgreement()
  const progress = createProgress(`measuring ${cases.length} cases`, cases.length)
  /** @type {Measurement[]} */
  const measurements = []
  let skipped = 0
  for (const [index, one] of cases.entries()) {
    if (one.run > 1 && performance.now() > options.budgetMs) {
      skipped++
      continue
    }
    progress.update(index, `${one.stack.name} ${one.layer.name} ${formatKib(one.blockSize)}`)
    const answer = await measure(one, inputs.find(one))
    agree(one, answer)
    if (!one.unmeasured) measurements.push(toMeasurement(one, answer, inputs.wholeSize(one)))
  }
  progress.end()
  return { measurements, source, skipped }
}

/**
 * @param {Case} one
 * @param {Answer} answer
 * @param {number} bytesWhole
 * @returns {Measurement}
 */
function toMeasurement (one, answer, bytesWhole) {
  return {
    stack: one.stack.name,
    layer: one.layer.name,
    blockSize: one.blockSize,
    run: one.run,
    ms: one.prefix ? scale(answer.ms, { bytesRead: answer.bytes, bytesWhole }) : answer.ms,
    records: answer.records,
    bytes: answer.bytes,
    peakMemory: answer.peakMemory,
    scaled: one.prefix
  }
}

exports.runBench = runBench
