'use strict'
// The rows of the verified scan: one for each way to work out the checksums.

const { createLoopRow } = require('./loop-row')
const { openScan } = require('./scan-log')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal' | 'drawn' | 'env' | 'needs'>} row
 * @returns {import('./shapes').Row}
 */
function createScanRow (row) {
  return createLoopRow({ ...row, samples: 7 }, { log: 'json', framing: 'checked', open: ({ path }) => openScan(path) })
}

exports.createScanRow = createScanRow
