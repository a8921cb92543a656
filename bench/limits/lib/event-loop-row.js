'use strict'
// The rows of the longest time for which a read lets nothing else run: beside a limit that is no measurement.

const { findLongestBlock } = require('./event-loop')
const { createReadRow } = require('./read-row')

const LIMIT_MS = 6

/**
 * @param {Pick<import('./shapes').Row, 'name' | 'order' | 'what'> & { samples?: number }} row
 * @param {{ log: 'json' | 'binary', framing: string, query?: import('./queries').QueryName }} input
 * @param {(found: import('./shapes').FoundLog) => Promise<import('../../lib/shapes').Reader<any>>} open
 * @returns {import('./shapes').Row}
 */
function createEventLoopRow (row, { query, ...input }, open) {
  return createReadRow({
    samples: 5,
    ...row,
    goal: 1,
    ours: { open: async (found) => timeBlocks(await open(found)) },
    peer: { open: () => ({ sample: () => LIMIT_MS, finish: () => ({}) }), samples: 0 }
  }, { ...input, query })
}

/**
 * @param {import('../../lib/shapes').Reader<any>} reader
 * @returns {import('./shapes').Runner}
 */
function timeBlocks (reader) {
  let records = 0
  return {
    sample () {
      records = 0
      return findLongestBlock(() => reader.run(() => { records++ }))
    },
    async finish () {
      await reader.close()
      return { records }
    }
  }
}

exports.createEventLoopRow = createEventLoopRow
