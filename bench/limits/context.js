'use strict'
// What rows are prepared with: the logs of the bench, found once, and what is in them by the slow way that leaves no
// doubt.

const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { matches, parseWhere } = require('@millrace/where')
const { DEFAULT_RECORDS, createInputs, findSource } = require('../lib/logs')
const { rootIs } = require('../lib/readers')
const { ValueTally } = require('../lib/tally')
const { measureLog } = require('./runners')

/** @typedef {import('./rows/shared').Context} Context */
/** @typedef {import('./rows/shared').FoundLog} FoundLog */
/** @typedef {import('../lib/logs').Source} Source */
/** @typedef {'root' | 'short' | 'number' | 'two' | 'presence'} QueryName */
/** @typedef {Record<QueryName, import('@millrace/where').Where>} Queries */

/**
 * @typedef {object} Contexts
 * @property {(name: string, shared: string) => Context} create  for the row of that name
 * @property {() => Source | undefined} source  what was read, if anything was
 */

/**
 * @param {number} records  of the generated log
 * @param {string} folder  where made logs are kept
 * @returns {Contexts}
 */
function createContexts (records, folder) {
  /** @type {Source | undefined} */
  let source
  /** @type {Awaited<ReturnType<typeof findAnswers>> | undefined} */
  let answers
  /** @type {Map<string, FoundLog>} */
  const found = new Map()

  /** @type {Context['findLog']} */
  async function findLog (log, framing, query) {
    source ??= await findSource({ records }, folder)
    const key = `${log} ${framing}`
    const whole = found.get(key) ?? await findWhole(source, log, framing)
    found.set(key, whole)
    if (query === undefined) return whole
    const queries = createQueries(source.query)
    answers ??= await findAnswers(source.json, queries)
    return { ...whole, where: queries[query], expected: answers[query] }
  }

  /**
   * @param {Source} source
   * @param {'json' | 'binary'} log
   * @param {import('./rows/shared').FramingName} framing
   * @returns {Promise<FoundLog>}
   */
  async function findWhole (source, log, framing) {
    const inputs = createInputs(source, folder)
    await inputs.prepare([{ log, framing }])
    const { records, delivered, digest } = await measureLog(source[log])
    return { path: inputs.pathOf({ log, framing }), root: source.query, expected: { records, delivered, digest } }
  }

  return {
    create (name, shared) {
      const own = path.join(shared, name)
      fs.mkdirSync(own)
      return { folder: own, shared, records, growth: Math.min(1, records / DEFAULT_RECORDS), findLog }
    },
    source: () => source
  }
}

/**
 * @param {string} root  that one record in a thousand has
 * @returns {Queries}
 */
function createQueries (root) {
  return {
    root: rootIs(root),
    // One in a hundred has the first, and one in a thousand the others, more or less.
    short: { path: ['value', 'content', 'type'], equals: 'pub' },
    number: { path: ['value', 'sequence'], equals: 117 },
    two: [{ path: ['value', 'content', 'type'], equals: 'post' }, { path: ['value', 'content', 'channel'], equals: 'baking' }],
    // One in twenty, posts of two kinds.
    presence: { path: ['value', 'content', 'channel'], exists: true }
  }
}

/**
 * In one pass for all of them.
 * @param {string} path  of a log of JSON
 * @param {Queries} queries
 * @returns {Promise<Record<string, import('../lib/run').Answer>>}  by the names of the queries
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

/**
 * The records of a log already in memory, for peers that need no log.
 * @typedef {object} Loaded
 * @property {Buffer} bytes  of the whole file
 * @property {number[]} seqs
 * @property {Uint32Array} starts  of the records, in `bytes`
 * @property {Uint32Array} ends
 */

/**
 * @param {string} path  of a log in an offset framing: its records are whole in the file
 * @param {number} [recordsMax]
 * @returns {Promise<Loaded>}
 */
async function loadRecords (path, recordsMax = Infinity) {
  /** @type {number[][]} */
  const [seqs, starts, ends] = [[], [], []]
  const log = OffsetLog(path, { flags: 'r' })
  await log.scan({}, (/** @type {import('@millrace/offset-log').Chunk} */ chunk) => {
    for (let index = 0; index < chunk.count && seqs.length < recordsMax; index++) {
      // The frame begins with a length of four bytes, at its seq.
      const start = chunk.seqs[index] + 4
      seqs.push(chunk.seqs[index])
      starts.push(start)
      ends.push(start + chunk.ends[index] - chunk.starts[index])
    }
    return seqs.length < recordsMax
  })
  await log.close()
  return { bytes: fs.readFileSync(path), seqs, starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) }
}

exports.createContexts = createContexts
exports.loadRecords = loadRecords
