'use strict'
// The rows of a log ten times as large as the bench's, beside that one.

const { findTenFold } = require('./ten-fold')

/**
 * @param {Omit<import('./shapes').Row, 'prepare'>} row  whose sides are opened with `small` and `large`
 * @returns {import('./shapes').Row}
 */
function createLargeRow (row) {
  return {
    ...row,
    async prepare ({ findLog }) {
      const { path: small } = await findLog('json', 'offset32')
      return { small, ...await findTenFold(small) }
    }
  }
}

exports.createLargeRow = createLargeRow
