'use strict'
// Whether the machine had time for the bench: its load, what its host took away, and a loop that takes always the same.

const fs = require('node:fs')
const os = require('node:os')

const LOOPS = 1e7
const ROUNDS = 8

/** @returns {() => string}  what it came to since then, for the facts */
function watchLoad () {
  // Before the bench makes a load of its own.
  const average = os.loadavg()[0] / os.availableParallelism()
  const [before, stolen] = [calibrate(), readSteal()]
  return () => {
    const [after, { steal, all }] = [calibrate(), readSteal()]
    const share = all > stolen.all ? (steal - stolen.steal) / (all - stolen.all) : 0
    return `${average.toFixed(2)} of each core before, ${(100 * share).toFixed(1)}% stolen, ` +
      `loop ${before.toFixed(1)} ms before and ${after.toFixed(1)} ms after`
  }
}

/** @param {string} [text]  of the facts @returns {import('../lib/charts').Load} */
function readLoad (text = '') {
  const [, average, steal, before, after] = /^(.*) of each core before, (.*)% stolen, loop (.*) ms before and (.*) ms after$/.exec(text)?.map(Number) ?? []
  return after === undefined ? {} : { average, steal: steal / 100, calibration: [before, after] }
}

/** ms, the least of some: the first ones are those of the compiler. */
function calibrate () {
  return Math.min(...Array.from({ length: ROUNDS }, () => {
    const started = performance.now()
    let sum = 0
    // Whole numbers of 32 bits all the way, or it would be compiled in two ways.
    for (let index = 0; index < LOOPS; index++) sum = Math.imul(sum ^ index, 31) | 0
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

exports.readLoad = readLoad
exports.watchLoad = watchLoad
