'use strict'
// Opens a log again and again, or scans it, and says what that took.

const { OffsetLog } = require('@millrace/offset-log')
const { median } = require('../../lib/statistics')

const OPEN_COUNT = 20
const SCAN_COUNT = 3
// A small log is scanned in less than it takes to compile what scans it.
const SCAN_MS = 500

/**
 * @param {{ file: string }} order
 * @returns {Promise<{ openMs: number }>}
 */
async function open ({ file }) {
  const samples = []
  for (let count = 0; count <= OPEN_COUNT; count++) {
    const started = performance.now()
    const log = OffsetLog(file, { flags: 'r' })
    await log.ready()
    samples.push(performance.now() - started)
    await log.close()
  }
  // At the first nothing is compiled.
  return { openMs: median(samples.slice(1)) }
}

/**
 * @param {{ file: string }} order
 * @returns {Promise<{ records: number, scanMs: number, peakMemory: number }>}
 */
async function scan ({ file }) {
  const log = OffsetLog(file, { flags: 'r' })
  await log.ready()
  /** @type {number[]} */
  const samples = []
  let [records, peakMemory] = [0, 0]
  for (const begun = performance.now(); samples.length < SCAN_COUNT || performance.now() - begun < SCAN_MS;) {
    records = 0
    const started = performance.now()
    await log.scan({}, (chunk) => { records += chunk.count })
    samples.push(performance.now() - started)
    // Scans that follow leave garbage, until somebody needs its room.
    if (samples.length === 1) ({ peakMemory } = rest())
  }
  await log.close()
  return { records, scanMs: median(samples), peakMemory }
}

/**
 * What a process takes that has loaded all of this and done nothing.
 * @returns {{ peakMemory: number }}
 */
function rest () {
  return { peakMemory: process.resourceUsage().maxRSS * 1024 }
}

exports.open = open
exports.scan = scan
exports.rest = rest
