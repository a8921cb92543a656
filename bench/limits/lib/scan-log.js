'use strict'
// A scan of a whole log, and what it comes to: exact counts, and a digest of every thousandth record.

const { OffsetLog } = require('@millrace/offset-log')
const { ByteTally } = require('../../lib/tally')

/** @typedef {import('@millrace/offset-log').Chunk} Chunk */

const EVERY = 1000
const BLOCK_SIZE = 65536
const TASK = require.resolve('./tally-task')

/**
 * The same result as that of the bench's `log` layer, at a fraction of its cost beside a loop that only reads: no call
 * for a record, and no copy within the time that is taken.
 */
class ChunkTally {
  constructor () {
    this.records = 0
    this.delivered = 0
    this.seqSum = 0
  }

  /** @param {Chunk} chunk */
  add ({ count, seqs, starts, ends }) {
    let [delivered, seqSum] = [0, 0]
    for (let index = 0; index < count; index++) {
      delivered += ends[index] - starts[index]
      seqSum += seqs[index]
    }
    this.records += count
    this.delivered += delivered
    this.seqSum += seqSum
  }
}

/** @typedef {ReturnType<typeof OffsetLog>} Log */

/**
 * @param {string} path
 * @param {object} [options]  of the log
 * @returns {Promise<import('./shapes').Runner>}
 */
function openScan (path, options) {
  return openTally(path, options, async (log) => {
    const tally = new ChunkTally()
    await log.scan({}, (/** @type {Chunk} */ chunk) => tally.add(chunk))
    return tally
  })
}

/**
 * The same over worker threads.
 * @param {string} path
 * @param {number} threads
 * @returns {Promise<import('./shapes').Runner>}
 */
function openThreadedScan (path, threads) {
  return openTally(path, {}, async (log) => {
    const { results } = await log.scan({ threads }, TASK)
    const sum = new ChunkTally()
    for (const { records, delivered, seqSum } of results) {
      sum.records += records
      sum.delivered += delivered
      sum.seqSum += seqSum
    }
    return sum
  })
}

/**
 * @param {string} path
 * @param {object | undefined} options  of the log
 * @param {(log: Log) => Promise<ChunkTally>} scan  what is timed
 * @returns {Promise<import('./shapes').Runner>}
 */
async function openTally (path, options, scan) {
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r', ...options })
  await log.ready()
  let tally = new ChunkTally()
  return {
    async sample () {
      const started = performance.now()
      tally = await scan(log)
      return performance.now() - started
    },
    async finish () {
      const { digest, seqSum, delivered, records } = await measureOpenLog(log)
      if (records !== tally.records || delivered !== tally.delivered || seqSum !== tally.seqSum) {
        throw new Error(`${path}: two scans gave ${records} and ${tally.records} records, or not the same ones`)
      }
      await log.close()
      return { records, delivered, digest, seqSum }
    }
  }
}

/**
 * @param {string} path
 * @returns {Promise<import('../../lib/shapes').TallyResult>}
 */
async function measureLog (path) {
  const log = OffsetLog(path, { blockSize: BLOCK_SIZE, flags: 'r' })
  const result = await measureOpenLog(log)
  await log.close()
  return result
}

/** @param {Log} log */
async function measureOpenLog (log) {
  const tally = new ByteTally({ every: EVERY })
  await log.scan({}, (/** @type {Chunk} */ { buffer, count, seqs, starts, ends }) => {
    for (let index = 0; index < count; index++) tally.visit(seqs[index], buffer, starts[index], ends[index])
  })
  return tally.result()
}

exports.ChunkTally = ChunkTally
exports.openScan = openScan
exports.openThreadedScan = openThreadedScan
exports.measureLog = measureLog
exports.BLOCK_SIZE = BLOCK_SIZE
