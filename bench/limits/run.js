'use strict'
// Runs the rows, stage by stage: prepares them, then round after round every side of every row in a process of its own,
// and insists that the sides of a row did the same work. Rows are prepared with the logs of the bench, found once, and
// with what is in them by the slow way that leaves no doubt.

const fs = require('node:fs')
const path = require('node:path')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { matches, parseWhere } = require('@millrace/where')
const { createInputs, findSource } = require('../lib/logs')
const { Tally } = require('../lib/measure')
const { rootIs } = require('../lib/readers')
const { createAgreement, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')
const { measureLog } = require('./runners')

const SIDE = { module: require.resolve('./runners'), task: 'measureSide' }

/** @typedef {import('./rows/shared').Row} Row */
/** @typedef {import('./rows/shared').FoundLog} FoundLog */
/** @typedef {import('../lib/logs').Source} Source */
/** @typedef {'root' | 'short' | 'number' | 'two' | 'presence'} QueryName */
/** @typedef {Record<QueryName, import('@millrace/where').Where>} Queries */

/** @typedef {import('./runners').Outcome} Outcome */
/** @typedef {{ ours: Outcome, peer: Outcome, bound?: Outcome }} Round */

/**
 * @typedef {object} Result
 * @property {Row} row
 * @property {any} setting  what both sides are opened with
 * @property {string | undefined} absent  the package, or whatever else was missing, that kept it from being run
 * @property {Round[]} rounds
 */

/**
 * @param {{ rows: Row[], runs: number, records: number, samples?: number }} options
 * @param {string} folder  for what the rows make
 * @returns {Promise<{ results: Result[], source: Source | undefined }>}  and what was read, if anything was
 */
async function runRows ({ rows, records, ...options }, folder) {
  const { findLog, getSource } = createFinder(records, folder)
  /** @type {Result[]} */
  const results = rows.map((row) => ({ row, setting: undefined, absent: findAbsent(row), rounds: [] }))
  const agree = createAgreement()
  for (const stage of new Set(rows.map(({ stage }) => stage))) {
    const own = results.filter(({ row, absent }) => row.stage === stage && absent === undefined)
    await withFolder(folder, 'limits', async (shared) => {
      for (const result of own) {
        const { name, prepare } = result.row
        const folder = path.join(shared, name)
        fs.mkdirSync(folder)
        const setting = result.setting = await prepare({ folder, shared, records, findLog })
        // What there must be enough of is known only now.
        result.absent = setting?.absent
        agree(`row ${name}`, 'what was prepared', setting?.expected ?? {})
      }
      await runRounds(stage, own.filter(({ absent }) => absent === undefined), agree, options)
    })
  }
  return { results, source: await getSource() }
}

/**
 * The sides take turns to be first.
 * @param {string | undefined} stage
 * @param {Result[]} results
 * @param {ReturnType<typeof createAgreement>} agree
 * @param {{ runs: number, samples?: number }} options
 */
async function runRounds (stage, results, agree, { runs, samples }) {
  const turns = Array.from({ length: runs }, (_, run) => {
    return results.filter(({ row }) => run === 0 || !row.isExact).flatMap((result) => {
      /** @type {import('./runners').SideName[]} */
      const sides = result.row.bound ? ['ours', 'peer', 'bound'] : ['ours', 'peer']
      return (run % 2 === 1 ? sides.reverse() : sides).map((side) => ({ result, side, run }))
    })
  }).flat()
  const describe = (/** @type {typeof turns[0]} */ { result, side }) => `row ${result.row.name}, ${side}`
  await takeTurns(`measuring ${results.length} rows${stage ? ` of ${stage}` : ''}`, turns, describe, async ({ result, side, run }) => {
    const { row, setting, rounds } = result
    const outcome = await runTask({ ...SIDE, side, setting, samples }, { row }, { env: row.env })
    agree(`row ${row.name}`, side, outcome.answer)
    rounds[run] = { ...rounds[run], [side]: outcome }
  })
}

/**
 * @param {Row} row
 * @returns {string | undefined}  the first package that it needs and does not find
 */
function findAbsent ({ needs = {} }) {
  return Object.keys(needs).find((name) => {
    try {
      needs[name]()
      return false
    } catch {
      return true
    }
  })
}

/**
 * @param {number} records  of the generated log
 * @param {string} folder  where made logs are kept
 * @returns {{ findLog: import('./rows/shared').FindLog, getSource: () => Promise<Source> | undefined }}
 */
function createFinder (records, folder) {
  /** @type {Map<string, Promise<any>>} */
  const found = new Map()
  const once = (/** @type {string} */ name, /** @type {() => Promise<any>} */ find) => {
    if (!found.has(name)) found.set(name, find())
    return found.get(name)
  }
  return {
    async findLog (log, framing, query) {
      /** @type {Source} */
      const source = await once('source', () => findSource({ records }, folder))
      /** @type {FoundLog} */
      const whole = await once(`${log} ${framing}`, async () => {
        const inputs = createInputs(source, folder)
        await inputs.prepare([{ log, framing }])
        const { records, delivered, digest } = await measureLog(source[log])
        const path = inputs.pathOf({ log, framing })
        return { path, root: source.query, expected: { records, delivered, digest, bytes: fs.statSync(path).size } }
      })
      if (query === undefined) return whole
      const queries = createQueries(source.query)
      const answers = await once('answers', () => findAnswers(source.json, queries))
      return { ...whole, where: queries[query], expected: { ...answers[query], bytes: whole.expected.bytes } }
    },
    getSource: () => found.get('source')
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
    return { name, conditions: parseWhere(where), tally: new Tally({ every: 1 }) }
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

exports.runRows = runRows
