'use strict'
// What the torture prints.

// The ones that the promises are about are printed even when they are none.
const NAMED = {
  'promised lost': 'promised records lost',
  'never appended': 'never appended',
  'half a commit': 'half commits',
  refused: 'refusals of a legitimate crash',
  'seq given twice': 'seqs given twice'
}

/** @param {import('./campaign').Failure} failure */
function printFailure ({ kind, message, replay, workload }) {
  console.log(`FAILED  workload ${workload}: ${kind}: ${message}`)
  if (replay) console.log(`  npm run torture -- --replay '${replay}'`)
}

/** @param {Record<string, any>} figures */
function printFigures (figures) {
  const { seed, workloads, images, distinct, distinctNested, recovered, modes, violations, digest, ms, cpuMs } = figures
  const count = (/** @type {number} */ value) => value.toLocaleString('en')
  const seconds = ms / 1000
  console.log(`seed ${seed}: ${count(workloads)} workloads, ${count(distinct)} distinct images (${digest}), ` +
    `${count(images)} opened, in ${seconds.toFixed(1)} s: ${count(Math.round(distinct / seconds))} a second, ` +
    `${Math.round(1000 * cpuMs / distinct)} µs of a core each`)
  console.log(`crashes during recovery: ${count(distinctNested)}, ${(100 * distinctNested / distinct).toFixed(1)}% of the ` +
    `images; ${count(recovered)} had something to recover`)
  for (const [mode, { workloads, images }] of Object.entries(modes)) {
    console.log(`fsync ${mode}: ${count(workloads)} workloads, ${count(images)} images`)
  }
  console.log(Object.entries(NAMED).map(([kind, name]) => `${violations[kind]} ${name}`).join(', '))
  const others = Object.entries(violations).filter(([kind, value]) => !(kind in NAMED) && value > 0)
  if (others.length > 0) console.log(others.map(([kind, value]) => `${value} ${kind}`).join(', '))
}

exports.printFailure = printFailure
exports.printFigures = printFigures
