'use strict'
// A process that appends commits and deletes records until it has appended its share, or is killed.
// Usage, by run-follow.js: node writer.js <JSON of WriterOptions>

const { fileStorage } = require('@millrace/block-file')
const { createRandom } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { shortWrites } = require('../../../packages/offset-log/test/short-writes')
const { createCommit, describeRecord } = require('./records')

const LIFE_MS_MAX = 120_000
const CONCURRENCY_MAX = 8

/**
 * @typedef {object} WriterOptions
 * @property {string} path
 * @property {string} framing
 * @property {string} fsync
 * @property {number} commitCount  the number of the last commit, plus one
 * @property {number} seed
 * @property {number} writeSizeMax  bytes that one call to the system may write, so that half commits can be seen
 * @property {boolean} deletes
 * @property {boolean} compacts
 */

/** @param {WriterOptions} options */
async function run (options) {
  setTimeout(() => process.exit(3), LIFE_MS_MAX).unref()
  const { path, framing, fsync, commitCount, seed, deletes, compacts } = options
  const storage = shortWrites(fileStorage, options.writeSizeMax)
  const log = OffsetLog(path, /** @type {any} */ ({ framing, fsync, storage }))
  await log.ready()
  if (log.recovery?.damage.length) throw new Error(`found damage: ${JSON.stringify(log.recovery)}`)
  const random = createRandom(seed)
  /** @type {number[]} */
  const seqs = []
  let next = await findNextCommit(log, seqs)
  process.send?.({ from: next })
  while (next < commitCount) {
    const numbers = Array.from({ length: 1 + random(CONCURRENCY_MAX) }, () => next++).filter((n) => n < commitCount)
    seqs.push(...await Promise.all(numbers.map((number) => log.append(createCommit(number)))))
    process.send?.({ appended: next, at: Date.now(), since: log.since.value })
    if (deletes && random(4) === 0) await deleteSome(log, seqs, random)
    if (compacts && random(150) === 0) await log.compact()
    if (random(30) === 0) await new Promise((resolve) => setTimeout(resolve, random(20)))
  }
  await log.close()
  process.disconnect?.()
}

/**
 * @param {ReturnType<typeof OffsetLog>} log
 * @param {number[]} seqs  filled
 */
async function findNextCommit (log, seqs) {
  let last = -1
  for await (const { seq, value } of log.stream()) {
    seqs.push(seq)
    last = Math.max(last, describeRecord(value).number)
  }
  return last + 1
}

/**
 * @param {ReturnType<typeof OffsetLog>} log
 * @param {number[]} seqs
 * @param {(limit: number) => number} random
 */
async function deleteSome (log, seqs, random) {
  // The first one of the log stays: without it a later process could not tell where to go on.
  const chosen = Array.from({ length: 1 + random(12) }, () => {
    // Old ones, and those that the reader may be reading just now.
    const recent = Math.min(seqs.length, random(2) === 0 ? 8 : seqs.length)
    return seqs.splice(seqs.length - 1 - random(recent), 1)[0]
  }).filter((seq) => seq !== undefined && seq !== log.since.value)
  if (chosen.length > 0) await log.del(chosen)
}

run(JSON.parse(process.argv[2])).catch((err) => {
  console.error(err)
  process.exit(1)
})
