'use strict'
// Runs the rows, stage by stage: prepares them, then round after round every side of every row in a process of its own,
// and insists that the sides of a row did the same work.

const { locate } = require('../lib/parts')
const { createAgreement, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')

const SIDE = require.resolve('./side')

/** @typedef {import('./rows/shared').Row} Row */
/** @typedef {import('./side').Outcome} Outcome */
/** @typedef {{ ours: Outcome, peer: Outcome, bound?: Outcome }} Round */

/**
 * @typedef {object} Result
 * @property {Row} row
 * @property {any} setting  what both sides are opened with
 * @property {string | undefined} absent  the package, or whatever else was missing, that kept it from being run
 * @property {Round[]} rounds
 */

/**
 * @param {{ rows: Row[], runs: number, samples?: number }} options
 * @param {import('./context').Contexts} contexts
 * @param {string} folder  for what the rows make
 * @returns {Promise<Result[]>}
 */
async function runRows ({ rows, ...options }, contexts, folder) {
  /** @type {Result[]} */
  const results = rows.map((row) => ({ row, setting: undefined, absent: findAbsent(row), rounds: [] }))
  const agree = createAgreement()
  for (const stage of new Set(rows.map(({ stage }) => stage))) {
    const own = results.filter(({ row, absent }) => row.stage === stage && absent === undefined)
    await withFolder(folder, 'limits', async (shared) => {
      for (const result of own) {
        const { row } = result
        const setting = result.setting = await row.prepare(contexts.create(row.name, shared))
        // What there must be enough of is known only now.
        result.absent = setting?.absent
        agree(`row ${row.name}`, 'what was prepared', setting?.expected ?? {})
      }
      await runRounds(stage, own.filter(({ absent }) => absent === undefined), agree, options)
    })
  }
  return results
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
      /** @type {import('./side').SideName[]} */
      const sides = result.row.bound ? ['ours', 'peer', 'bound'] : ['ours', 'peer']
      return (run % 2 === 1 ? sides.reverse() : sides).map((side) => ({ result, side, run }))
    })
  }).flat()
  const describe = (/** @type {typeof turns[0]} */ { result, side }) => `row ${result.row.name}, ${side}`
  await takeTurns(`measuring ${results.length} rows${stage ? ` of ${stage}` : ''}`, turns, describe, async ({ result, side, run }) => {
    const { row, setting, rounds } = result
    const outcome = await runTask({ module: SIDE, task: 'measureSide', row: locate(row), side, setting, samples }, row.env)
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

exports.runRows = runRows
