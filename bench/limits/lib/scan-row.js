'use strict'
// The rows of the verified scan: one for each way to work out the checksums.

const { createLoopRow } = require('./loop-row')
const { openSummedLoop } = require('./summed-loop')
const { openScan } = require('./scan-log')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal' | 'drawn' | 'env' | 'needs'>} row
 * @returns {import('./shapes').Row}
 */
function createScanRow (row) {
  /** @type {import('./shapes').Bound} */
  const bound = {
    what: 'read the file, sum all of it, and go from record to record',
    open: ({ path }) => openSummedLoop(path)
  }
  return createLoopRow({ ...row, samples: 7, bound }, {
    log: 'json', framing: 'checked', open: ({ path }) => openScan(path)
  })
}

exports.createScanRow = createScanRow
