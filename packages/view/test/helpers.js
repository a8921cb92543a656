'use strict'
// A fold that shows what was folded, and a comparison of its state with a scan of the log.

const { failureOf } = require('@millrace/testkit')

/** @typedef {Array<[seq: number, n: number]>} Entries */

/** The state has each record: what was folded twice, or not at all, shows. */
const listing = Object.freeze({
  name: 'list',
  initial: [],
  reduce: (state, { n }, seq) => {
    state.push([seq, n])
    return state
  }
})

/** @returns {Promise<Entries>} */
async function scanOf (log) {
  const entries = []
  for await (const { seq, value } of log.stream({})) entries.push([seq, value.n])
  return entries
}

/**
 * What is wrong with a state; null if nothing is.
 * @param {Entries} state
 * @param {Entries} scanned
 * @param {Map<number, number>} gone  what was deleted or dropped: the state may have it
 */
function compare (state, scanned, gone) {
  const unordered = state.find(([seq], index) => index > 0 && seq <= state[index - 1][0])
  if (unordered) return `${unordered[0]} was folded twice, or too late`
  const found = new Map(state)
  for (const [seq, n] of scanned) {
    if (found.get(seq) !== n) return `${seq} is ${found.get(seq)} in the view, and ${n} in the log`
    found.delete(seq)
  }
  for (const [seq, n] of found) if (gone.get(seq) !== n) return `${seq} is in the view, and was never in this log`
  return null
}

/** The codes of what an action fails with, or null. */
async function codeOf (run) {
  return (await failureOf(run))?.code ?? null
}

exports.codeOf = codeOf
exports.compare = compare
exports.listing = listing
exports.scanOf = scanOf
