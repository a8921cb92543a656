'use strict'
// The log of the bench with what a scan of it must give, and with the queries of rows and their answers, which come
// from parsing every record.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { matches, parseWhere } = require('@millrace/where')
const { findLog, openInputs } = require('../../engine/inputs')
const { Tally } = require('../../lib/measure')
const { rootIs } = require('../../lib/readers')
const { measureLog } = require('./runners')

/** Of a root: enough that it is the only one that begins so. */
const PREFIX_LENGTH = 30

/** @typedef {import('../../engine/row').Answer} Answer */
/** @typedef {'root' | 'short' | 'number' | 'two' | 'presence' | 'range' | 'prefix' | 'choice'} QueryName */
/** @typedef {Record<QueryName, import('@millrace/where').Where>} Queries */
/** @typedef {import('@millrace/offset-log').FramingName} FramingName */
/** @typedef {[log: 'json' | 'binary', framing: FramingName, query?: QueryName]} Wanted */
/** @typedef {import('../../engine/row').Context} Context */

/**
 * @typedef {object} FoundLog
 * @property {string} path
 * @property {string} root  one record in a thousand has it as `value.content.root`
 * @property {import('@millrace/where').Where} [where]  the query
 * @property {Record<string, Answer>} answers  of a scan of the log that this one was made from, and the size of this
 *   one in bytes; with a query, of parsing every record
 */

/** The log is then in the page cache. @type {(context: Context, ...wanted: Wanted) => Promise<FoundLog>} */
async function findAnswers (context, log, framing, query) {
  const { source } = await openInputs(context)
  const path = await findLog(context, { log, framing })
  const [root, bytes] = [source.query, fs.statSync(path).size]
  if (query === undefined) {
    const { records, delivered, digest } = await context.once(`tally ${log}`, () => measureLog(source[log]))
    return { path, root, answers: { '': { records, delivered, digest, bytes } } }
  }
  const queries = createQueries(root)
  const answers = await context.once('answers', () => answerQueries(source.json, queries))
  return { path, root, where: queries[query], answers: { '': { ...answers[query], bytes } } }
}

/** One record in a thousand has the root. @type {(root: string) => Queries} */
function createQueries (root) {
  return {
    root: rootIs(root),
    // `short` matches about one record in a hundred; `number` and `two` about one in a thousand.
    short: { path: ['value', 'content', 'type'], equals: 'pub' },
    number: { path: ['value', 'sequence'], equals: 117 },
    two: [{ path: ['value', 'content', 'type'], equals: 'post' }, { path: ['value', 'content', 'channel'], equals: 'baking' }],
    // About one in twenty: two kinds of posts have a channel.
    presence: { path: ['value', 'content', 'channel'], exists: true },
    // The records of the number.
    range: { path: ['value', 'sequence'], gt: 116, lt: 118 },
    // Those of the root: no other one begins so, and no record has the other nine.
    prefix: { path: ['value', 'content', 'root'], prefix: root.slice(0, PREFIX_LENGTH) },
    choice: { path: ['value', 'content', 'root'], in: [root, ...Array.from({ length: 9 }, (_, index) => createKey(index))] }
  }
}

/**
 * @param {number} index
 * @returns {string}  the key of no message
 */
function createKey (index) {
  return `%${createHash('sha256').update(`choice ${index}`).digest('base64')}.sha256`
}

/**
 * Answers all queries in one pass.
 * @param {string} path  of a log of JSON
 * @param {Queries} queries
 * @returns {Promise<Record<string, Answer>>}  by the names of the queries
 */
async function answerQueries (path, queries) {
  const asked = Object.entries(queries).map(([name, where]) => {
    return { name, conditions: parseWhere(where), tally: new Tally({ every: 1 }) }
  })
  const log = OffsetLog(path, { codec: jsonCodec, flags: 'r' })
  for await (const { seq, value } of log.stream()) {
    for (const { conditions, tally } of asked) if (matches(conditions, value)) tally.visit(seq, value)
  }
  await log.close()
  return Object.fromEntries(asked.map(({ name, tally }) => {
    // The seqs of the other files differ; the values are the same.
    const { records, digest } = tally.result()
    return [name, { records, digest }]
  }))
}

exports.findAnswers = findAnswers
