'use strict'
// The rows that set a way to read a log beside the least that reading it can cost: a loop over the same file.

const fs = require('node:fs')
const { openBareLoop } = require('./bare-loop')

/**
 * @param {Omit<import('./shapes').Row, 'unit' | 'prepare' | 'ours' | 'peer'>} row  its bound gets the log too
 * @param {object} work
 * @param {'json' | 'binary'} work.log
 * @param {string} work.framing
 * @param {import('./queries').QueryName} [work.query]  what is looked for; everything, if there is none
 * @param {import('./shapes').Side['open']} work.open
 * @returns {import('./shapes').Row}
 */
function createLoopRow (row, { log, framing, query, open }) {
  return {
    ...row,
    unit: 'ms',
    async prepare (context) {
      const found = await context.findLog(log, framing, query)
      return { ...found, expected: { ...found.expected, bytes: fs.statSync(found.path).size } }
    },
    ours: { open },
    peer: { open: ({ path }) => openBareLoop(path) }
  }
}

exports.createLoopRow = createLoopRow
