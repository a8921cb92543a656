'use strict'
// What was read, in three figures: how many records, how many bytes, and a digest of every hundredth of them.

const { ByteTally } = require('../../lib/tally')

const EVERY = 100

/** @typedef {import('./shapes').Visit} Visit */

/**
 * @returns {{ visit: Visit, result: () => { records: number, bytes: number, digest: string } }}
 */
function tallyRecords () {
  const tally = new ByteTally({ every: EVERY })
  let index = 0
  return {
    // Peers call records by keys of their own; what all of them have is the order.
    visit: (buf, start, end) => tally.visit(index++, buf, start, end),
    result () {
      const { records, delivered, digest } = tally.result()
      return { records, bytes: delivered, digest }
    }
  }
}

/** @param {Buffer[]} records */
function tallyOf (records) {
  const { visit, result } = tallyRecords()
  for (const record of records) visit(record, 0, record.length)
  return result()
}

exports.tallyRecords = tallyRecords
exports.tallyOf = tallyOf
