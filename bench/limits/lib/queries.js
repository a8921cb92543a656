'use strict'
// What the rows of queries look for in the logs of the bench, and what is found by parsing every record.

const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { matches, parseWhere } = require('@millrace/where')
const { ValueTally } = require('../../lib/tally')

/** @typedef {'root' | 'short' | 'number' | 'two' | 'presence'} QueryName */
/** @typedef {Record<QueryName, import('@millrace/where').Where>} Queries */

/**
 * @param {string} root  that one record in a thousand has
 * @returns {Queries}
 */
function createQueries (root) {
  return {
    root: { path: ['value', 'content', 'root'], equals: root },
    // One in a hundred has the first, and one in a thousand the others, more or less.
    short: { path: ['value', 'content', 'type'], equals: 'pub' },
    number: { path: ['value', 'sequence'], equals: 117 },
    two: [{ path: ['value', 'content', 'type'], equals: 'post' }, { path: ['value', 'content', 'channel'], equals: 'baking' }],
    // One in twenty, posts of two kinds.
    presence: { path: ['value', 'content', 'channel'], exists: true }
  }
}

/**
 * By the slow way that leaves no doubt, in one pass for all of them.
 * @param {string} path  of a log of JSON
 * @param {Queries} queries
 * @returns {Promise<Record<string, import('./shapes').Answer>>}  by the names of the queries
 */
async function findAnswers (path, queries) {
  const asked = Object.entries(queries).map(([name, where]) => {
    return { name, conditions: parseWhere(where), tally: new ValueTally({ every: 1 }) }
  })
  const log = OffsetLog(path, { codec: jsonCodec, flags: 'r' })
  for await (const { seq, value } of log.stream()) {
    for (const { conditions, tally } of asked) if (matches(conditions, value)) tally.visit(seq, value)
  }
  await log.close()
  return Object.fromEntries(asked.map(({ name, tally }) => {
    // Seqs are those of this file; the values are in all of them.
    const { records, digest } = tally.result()
    return [name, { records, digest }]
  }))
}

exports.createQueries = createQueries
exports.findAnswers = findAnswers
