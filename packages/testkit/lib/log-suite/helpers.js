'use strict'
// Functions that several parts of the log suite need.

const pull = require('pull-stream')

/** @type {(source: any) => Promise<any[]>} */
function collect (source) {
  return new Promise((resolve, reject) => {
    pull(source, pull.collect((/** @type {any} */ err, /** @type {any} */ items) => err ? reject(err) : resolve(items)))
  })
}

/** Appends one by one, and returns the seqs. @type {(log: any, values: unknown[]) => Promise<number[]>} */
async function appendEach (log, values) {
  const seqs = []
  for (const value of values) seqs.push(await log.append(value))
  return seqs
}

/**
 * Compares JSON: for ten thousand items a hundred times faster than tape.
 * @type {(a: unknown, b: unknown) => boolean}
 */
function isSame (a, b) {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** @param {any} log */
async function scanAll (log, options = {}) {
  /** @type {Array<{ seq: number, bytes: Buffer }>} */
  const records = []
  await log.scan(options, (/** @type {any} */ { buffer, count, seqs, starts, ends }) => {
    for (let i = 0; i < count; i++) {
      records.push({ seq: seqs[i], bytes: Buffer.from(buffer.subarray(starts[i], ends[i])) })
    }
  })
  return records
}

/**
 * A seq that names no record. The seqs of some logs follow each other without a gap.
 * @type {(first: number, second: number) => number}
 */
function seqBetween (first, second) {
  return second - first > 1 ? first + 1 : first + 0.5
}

/**
 * Deletes records, if the log can.
 * @type {(log: any, seqs: number[]) => Promise<number[]>} those that are deleted
 */
async function deleteSome (log, seqs) {
  if (!log.supports.del) return []
  await log.del(seqs)
  return seqs
}

exports.collect = collect
exports.deleteSome = deleteSome
exports.isSame = isSame
exports.appendEach = appendEach
exports.scanAll = scanAll
exports.seqBetween = seqBetween
