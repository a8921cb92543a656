'use strict'
// What rows that compare two ways to read a log have in common: the log of the bench, and what is in it.

/**
 * @param {Omit<import('./shapes').Row, 'unit' | 'prepare'>} row
 * @param {{ log: 'json' | 'binary', framing: string, query?: import('./queries').QueryName }} input
 * @returns {import('./shapes').Row}
 */
function createReadRow (row, { log, framing, query }) {
  return { ...row, unit: 'ms', prepare: (context) => context.findLog(log, framing, query) }
}

exports.createReadRow = createReadRow
