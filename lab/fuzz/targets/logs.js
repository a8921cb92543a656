'use strict'
// Logs of every framing: opened, read in every way, written to, and opened again.

const { judgeLog } = require('../logs/judge-log')
const { makeLog, prepareBases } = require('../logs/make-log')
const { makePlan } = require('../logs/make-plan')
const { FILE, questionLog } = require('../logs/question-log')

/**
 * @typedef {(limit: number) => number} Random
 * @typedef {import('../logs/make-bases').Base} Base
 * @typedef {import('../logs/question-log').Plan} Plan
 */

exports.name = 'logs'
/** Cases of a default run. */
exports.count = 5_000_000
/** Cases that a thread runs before it reports. */
exports.batchSize = 4000
exports.isSync = false
/** What a case may take, beside the file's size. */
exports.limits = {
  steps: { fixed: 200_000, perByte: 60 },
  callCount: { fixed: 1000, perByte: 0.6 },
  transferred: { fixed: 1_000_000, perByte: 80 }
}

exports.prepare = prepareBases

/**
 * @param {Random} random
 * @param {Base[][]} bases
 * @returns {{ bytes: Buffer, plan: Plan }}
 */
exports.make = (random, bases) => {
  const { bytes, origin, base, mayHaveGaps } = makeLog(random, bases)
  const plan = makePlan(random, [bytes.length, ...base.known.map(([seq]) => seq)])
  // Legacy framings have no checksum: what is there cannot be known. But a frame says twice where it is.
  if (origin !== 'foreign' && base.framing !== 'checked') return { bytes, plan: { ...plan, order: 'always' } }
  const isSealed = origin === 'foreign' || origin === 'tampered'
  // Positions that may have gaps can be made to go back and forth. How far a reader comes in one go decides then what
  // it takes for read already.
  if (isSealed || !plan.verify) return { bytes, plan: { ...plan, isSteady: mayHaveGaps } }
  // And what lies after damage may have been elsewhere: whether a get finds a way past it depends on what is in the
  // cache.
  return { bytes, plan: { ...plan, isSteady: mayHaveGaps, known: base.known, order: mayHaveGaps ? 'whole' : 'always' } }
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = ({ bytes, plan }, surroundings) => {
  const { OffsetLog } = surroundings.library.load('offset-log')
  const { blockSize, cache } = surroundings.choose(plan.pick, plan.isSteady)
  const storage = surroundings.createStorage(plan.pick, plan.isSteady)
  storage.put(FILE, plan.flags === 'r' ? bytes : Buffer.from(bytes))
  return questionLog(OffsetLog, storage, { blockSize, cache }, plan)
}

/**
 * @param {{ bytes: Buffer, plan: Plan }} sample
 * @param {Record<string, any>} answers
 */
exports.judge = ({ plan }, answers) => judgeLog(plan, answers)
