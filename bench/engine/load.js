'use strict'
// Whether the machine had time for the bench: its load, what its host took away, and a loop that takes always the same.

const fs = require('node:fs')
const os = require('node:os')

const LOOPS = 2e7

/** @returns {() => string}  what it came to since then, for the facts */
function watchLoad () {
  const [before, stolen] = [calibrate(), readSteal()]
  return () => {
    const [after, { steal, all }] = [calibrate(), readSteal()]
    const share = all > stolen.all ? (steal - stolen.steal) / (all - stolen.all) : 0
    const [, average] = os.loadavg()
    return `load ${average.toFixed(1)} on ${os.availableParallelism()} cores, ${(100 * share).toFixed(1)}% stolen, ` +
      `loop ${before.toFixed(0)} ms before and ${after.toFixed(0)} ms after`
  }
}

/** ms, the least of three. */
function calibrate () {
  return Math.min(...[0, 1, 2].map(() => {
    const started = performance.now()
    let sum = 0
    for (let index = 0; index < LOOPS; index++) sum = (sum + index * 7) | 0
    return performance.now() - started + (sum === 1 ? 1e-9 : 0)
  }))
}

/** Ticks since the machine began: those that the host gave to others, and all; of Linux only. */
function readSteal () {
  try {
    const ticks = fs.readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1, 9).map(Number)
    return { steal: ticks[7], all: ticks.reduce((sum, one) => sum + one, 0) }
  } catch {
    return { steal: 0, all: 0 }
  }
}

exports.watchLoad = watchLoad
