'use strict'
// `verify`: goes through hostile logs, writes nothing, and agrees with those who read them.

const { Failure, attempt, ensure, ensureSame, show } = require('../answers')
const { ask, checkDoubles, scan } = require('../logs/ask')
const { makeLog, prepareBases } = require('../logs/make-log')
const { Violation } = require('../violation')

const FILE = '/log'
const FRAMINGS = ['checked', 'offset32', 'offset48', 'offset53']

/**
 * @typedef {object} Plan
 * @property {string | undefined} framing  that the file is said to have
 * @property {number} rangesMax
 * @property {number} pick
 * @property {boolean} isSteady
 * @property {boolean} isRaw  whether no checksum was made to fit again
 */

exports.name = 'verify'
exports.count = 250_000
exports.batchSize = 2000
exports.isSync = false
exports.limits = {
  steps: { fixed: 300_000, perByte: 200 },
  callCount: { fixed: 2000, perByte: 0.6 },
  transferred: { fixed: 1_000_000, perByte: 60 }
}
exports.isThere = (/** @type {import('../library').Library} */ library) => library.has('repair/lib/verify.js')

exports.prepare = prepareBases

/**
 * @param {(limit: number) => number} random
 * @param {import('../logs/make-bases').Base[][]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const { bytes, origin, mayHaveGaps } = makeLog(random, bases)
  return {
    bytes,
    plan: {
      framing: random(12) === 0 ? FRAMINGS[random(FRAMINGS.length)] : undefined,
      rangesMax: random(4) === 0 ? random(3) : 1000,
      pick: random(2 ** 30),
      isSteady: mayHaveGaps,
      isRaw: origin === 'sound' || origin === 'damaged'
    }
  }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = async ({ bytes, plan }, surroundings) => {
  const { framing, rangesMax, pick, isSteady } = plan
  const { OffsetLog } = surroundings.library.load('offset-log')
  const { verify } = surroundings.library.load('repair')
  const storage = surroundings.createStorage(pick, isSteady)
  storage.put(FILE, bytes)
  /** @type {any[]} */
  const told = []
  const options = { framing, rangesMax, storage, onDamage: (/** @type {any} */ range) => told.push(range) }
  const report = await ask('verify', (cb) => verify(FILE, options, cb))
  const { changeCount } = storage
  /** @type {Record<string, any>} */
  const answers = { report, told, changeCount, read: null }
  if (!(report instanceof Failure) && framing === undefined) {
    const log = OffsetLog(FILE, { flags: 'r', storage, ...surroundings.choose(pick, isSteady) })
    answers.read = await scan(log, {})
    answers.since = log.since.value
    await ask('close', (cb) => log.close(cb))
  }
  checkDoubles()
  return answers
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {Record<string, any>} answers
 */
exports.judge = ({ bytes, plan }, answers) => {
  const { report, told, changeCount, read, since } = answers
  if (changeCount > 0) throw new Violation('wrote', `verify made ${changeCount} changes`)
  if (report instanceof Failure) return
  judgeRanges(bytes.length, plan.rangesMax, report, told)
  if (read === null || !plan.isRaw) return
  const isRead = !(read.end instanceof Failure)
  // Where all is sound, readers find the same.
  if (!report.isSound) return
  ensure(isRead, () => `verify finds nothing wrong, but a scan fails: ${show(read.end)}`)
  ensureSame('the records of verify and of a scan', report.records, read.items.length / 3)
  ensureSame('since of verify and of the log', report.since, since)
}

/**
 * @param {number} size
 * @param {number} rangesMax
 * @param {Record<string, any>} report
 * @param {any[]} told
 */
function judgeRanges (size, rangesMax, report, told) {
  const { damage, damageCount, damageSize, isSound } = report
  ensureSame('damageCount and what onDamage is told', damageCount, told.length)
  ensureSame('the ranges of the report and those that onDamage is told', damage, told.slice(0, rangesMax))
  ensureSame('damageSize', damageSize, told.reduce((sum, range) => sum + range.size, 0))
  ensure(!isSound || damageCount === 0, 'a sound log has damage')
  let end = 0
  for (const range of told) {
    ensure(range.size > 0 && range.offset >= end, () => `the damaged ranges ${show(told)}`)
    end = range.offset + range.size
  }
  ensure(report.end <= Math.max(size, end), () => `a log of ${size} bytes ends at ${report.end}`)
  ensure(attempt(() => JSON.stringify(report)) !== undefined, 'a report that is no JSON')
}
