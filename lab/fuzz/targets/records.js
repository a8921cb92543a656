'use strict'
// Binary records: everything that the codec exports, asked of hostile bytes.

const { judgeRecord } = require('../records/judge-record')
const { makeRecord } = require('../records/make-record')
const { questionRecord } = require('../records/question-record')

exports.name = 'records'
/** Cases of a default run. */
exports.count = 5_000_000
/** Cases that a thread runs before it reports. */
exports.batchSize = 20_000
exports.isSync = true
/** What a case may take, beside the bytes themselves. */
exports.limits = { steps: { fixed: 20_000, perByte: 300 } }

/**
 * @param {(limit: number) => number} random
 * @returns {{ bytes: Buffer, plan: import('../records/question-record').Plan }}
 */
exports.make = (random) => ({ bytes: makeRecord(random), plan: { shift: random(64), pick: random(2 ** 30) } })

/**
 * @param {{ bytes: Buffer, plan: import('../records/question-record').Plan }} sample
 * @param {import('../surroundings').Surroundings} surroundings
 */
exports.run = ({ bytes, plan }, surroundings) => {
  const placed = surroundings.place(bytes, plan.shift)
  return questionRecord(surroundings.library.load('binary-codec'), placed, plan, surroundings.isNoisy)
}

/**
 * @param {{ bytes: Buffer, plan: import('../records/question-record').Plan }} sample
 * @param {Record<string, any>} answers
 * @param {import('../library').Library} library
 */
exports.judge = ({ bytes, plan }, answers, library) => judgeRecord(library.load('binary-codec'), bytes, plan, answers)
