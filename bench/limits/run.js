'use strict'
// Runs rows stage by stage: prepares them, then runs every side of every row, each in a process of its own, for several
// rounds. The sides of a row must report the same answer. For queries, the expected answer comes from parsing every
// record.

const { createHash } = require('node:crypto')
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

/** Of a root: enough that it is the only one that begins so. */
const PREFIX_LENGTH = 30
const SIDE = { module: require.resolve('./runners'), task: 'measureSide' }

/** @typedef {import('./rows/shared').Row} Row */
/** @typedef {import('./rows/shared').FoundLog} FoundLog */
/** @typedef {import('../lib/logs').Source} Source */
/** @typedef {'root' | 'short' | 'number' | 'two' | 'presence' | 'range' | 'prefix' | 'choice'} QueryName */
/** @typedef {Record<QueryName, import('@millrace/where').Where>} Queries */

/** @typedef {import('./runners').Outcome} Outcome */
/** @typedef {{ ours: Outcome, peer: Outcome, bound?: Outcome }} Round */

/**
 * @typedef {object} Result
 * @property {Row} row
 * @property {any} setting  what `prepare` returned
 * @property {string | undefined} absent  what was missing, so that the row did not run
 * @property {Round[]} rounds
 */

/**
 * @param {{ rows: Row[], runs: number, records: number, samples?: number }} options
 * @param {string} folder  for the files of the rows
 * @returns {Promise<{ results: Result[], source: Source | undefined }>}  `source`: the log of the bench, if it was read
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
        // Preparing a row can show that memory or room on the disk is missing.
        result.absent = setting?.absent
        agree(`row ${name}`, 'what was prepared', setting?.expected ?? {})
      }
      await runRounds(stage, own.filter(({ absent }) => absent === undefined), agree, options)
    })
  }
  return { results, source: await getSource() }
}

/**
 * The sides take turns in being first.
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

/** The name of the first need that is missing. @type {(row: Row) => string | undefined} */
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
 * @param {string} folder  for generated logs
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
    // The seqs of the other files differ; the values are the same.
    const { records, digest } = tally.result()
    return [name, { records, digest }]
  }))
}

exports.runRows = runRows
