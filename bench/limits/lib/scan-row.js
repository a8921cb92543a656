'use strict'
// The rows of the verified scan: one for each way to work out the checksums.

const fs = require('node:fs')
const { openBareLoop } = require('./bare-loop')
const { openScan } = require('./scan-log')

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what' | 'goal' | 'env' | 'needs'>} row
 * @returns {import('./shapes').Row}
 */
function createScanRow (row) {
  return {
    ...row,
    unit: 'ms',
    samples: 5,
    async prepare ({ findLog }) {
      const { path, expected } = await findLog('json', 'checked')
      return { path, expected: { ...expected, bytes: fs.statSync(path).size } }
    },
    ours: { open: ({ path }) => openScan(path) },
    peer: { open: ({ path }) => openBareLoop(path) }
  }
}

exports.createScanRow = createScanRow
