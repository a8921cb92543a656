'use strict'
// Reads all of a log.

/** @typedef {import('./compare').Found} Found */

/**
 * @param {any} log
 * @param {object} [range]
 * @returns {Promise<Found[]>}
 */
async function readLog (log, range = {}) {
  /** @type {Found[]} */
  const found = []
  await log.scan(range, (/** @type {any} */ chunk) => {
    const { buffer, count, seqs, starts, ends } = chunk
    if (count === 0) return
    // The chunk is the log's again when this returns. One copy for all of its records.
    let first = Infinity
    let last = 0
    for (let index = 0; index < count; index++) {
      first = Math.min(first, starts[index])
      last = Math.max(last, ends[index])
    }
    const copy = Buffer.from(buffer.subarray(first, last))
    for (let index = 0; index < count; index++) {
      found.push({ seq: seqs[index], buffer: copy, start: starts[index] - first, end: ends[index] - first })
    }
  })
  return found
}

exports.readLog = readLog
