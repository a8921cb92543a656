'use strict'
// A row of limits whose figures are known beforehand.

const { toRow } = require('../../tables/limits/shared')

/** @type {(name: string, values: [ours: number, loop: number]) => import('../../engine/row').Row} */
function createFixedRow (name, values) {
  const [millrace, loop] = values.map((value) => () => {
    let count = 0
    // The first sample is ten times the others, and must not count.
    return { sample: () => value * (count++ === 0 ? 10 : 1), finish: () => ({ records: 7 }) }
  })
  return toRow(name, `${name} : fixed`, { within: 1, samples: 2 }, () => ({}), { millrace, loop })
}

exports.createFixedRow = createFixedRow
