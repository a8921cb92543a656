'use strict'
// The rows of queries that the codec answers in the bytes, beside the bare loop.

const { createLoopRow } = require('./loop-row')
const { openScanReader } = require('./readers')
const { timeReader } = require('./time-reader')

/**
 * @param {Omit<import('./shapes').Row, 'unit' | 'prepare' | 'ours' | 'peer'>} row
 * @param {{ log: 'json' | 'binary', query: import('./queries').QueryName }} input
 * @returns {import('./shapes').Row}
 */
function createQueryRow (row, { log, query }) {
  return createLoopRow(row, { log, framing: 'offset32', query, open: (found) => openQuery(found, log) })
}

/**
 * @param {import('./shapes').FoundLog} found
 * @param {'json' | 'binary'} log
 * @returns {Promise<import('./shapes').Runner>}  whose digest is of the values that were found
 */
async function openQuery ({ path, where }, log) {
  return timeReader(await openScanReader(path, log, where), { decode: log, every: 1, keys: ['records', 'digest'] })
}

exports.createQueryRow = createQueryRow
exports.openQuery = openQuery
