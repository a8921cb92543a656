'use strict'
// Ten times the log, ten times the time: nothing grows but the work.

const { createLargeRow } = require('../lib/large-row')
const { openScan } = require('../lib/scan-log')
const { FOLD } = require('../lib/ten-fold')

/**
 * Both sides say how many records they saw, the smaller one as many as it would be ten times over.
 * @param {string} path
 * @param {number} fold
 * @returns {Promise<import('../lib/shapes').Runner>}
 */
async function open (path, fold) {
  const { sample, finish } = await openScan(path)
  return {
    sample,
    async finish () {
      const { records, delivered } = await finish()
      return { records: fold * Number(records), delivered: fold * Number(delivered) }
    }
  }
}

module.exports = createLargeRow({
  name: 'large-time',
  order: 82,
  what: 'scan of ten times the log : of the log',
  unit: 'ms',
  goal: 10.5,
  samples: 3,
  ours: { open: ({ large }) => open(large, 1) },
  peer: { open: ({ small }) => open(small, FOLD), samples: 9 }
})
