'use strict'
// `--against`: this tree's rows, with the packages of this tree and with those of another one; or beside a saved
// result.

const fs = require('node:fs')
const path = require('node:path')
const { compareCases, compareSaved, describeSaved, formatCompared } = require('./compare')
const { measureRows, eachStage } = require('./measure')
const { readSaved } = require('./results')
const { comparedOf, isMoreBetter } = require('./row')
const { inTree, prepareTree } = require('./trees')
const { formatKib, gatherFacts } = require('../lib/report')
const { createProgress } = require('../lib/run')

/** @typedef {import('./row').Table} Table */
/** @typedef {import('./measure').Case} Case */

const PERCENT = 100

/** @type {(table: Table, options: any, generated: string) => Promise<number>} the exit code */
async function compareTrees (table, options, generated) {
  const ours = { ...options, peers: options.peers.filter((/** @type {{ kind: string }} */ { kind }) => kind === 'millrace') }
  const isSaved = options.against.endsWith('.csv') && fs.existsSync(options.against)
  const comparing = isSaved ? compareWithSaved(table, ours, generated) : compareWithTree(ours, generated)
  const { rows, exitCode, label, unit } = await comparing
  const tolerance = `slower by more than ${PERCENT * options.tolerance}% is a failure`
  console.log([`this tree against ${label}: below 1 is less time, or a lower rate; ${tolerance}`, '', ...formatCompared(rows, unit)].join('\n'))
  return exitCode
}

/**
 * @type {(options: any, generated: string) => Promise<import('./compare').Comparison & { label: string, unit: 'pairs'
 *   }>}
 */
async function compareWithTree (options, generated) {
  const { against, minutes, tolerance } = options
  const tree = prepareTree(against)
  const end = performance.now() + 60_000 * minutes
  /** @type {import('./compare').Compared[]} */
  const rows = []
  let exitCode = /** @type {0 | 1} */ (0)
  try {
    const { absences } = await eachStage(options, generated, async ({ cases, run }) => {
      const progress = createProgress(`comparing ${cases.length} cases`, cases.length)
      const found = await compareCases({
        cases: cases.map((one) => toCase(one, tree.root, run)),
        budgetMs: end - performance.now(),
        tolerance,
        onPair: (row, left) => progress.update(cases.length - left, `${row.name}, pair ${row.pairs}`)
      })
      progress.end()
      rows.push(...found.rows)
      if (found.exitCode !== 0) exitCode = 1
    })
    for (const { row, reason } of absences) console.log(`absent: ${row}: ${reason}`)
  } finally {
    tree.release()
  }
  return { rows, exitCode, label: tree.label, unit: 'pairs' }
}

/** @type {(one: Case, root: string, run: import('./measure').Stage['run']) => import('./compare').Case} */
function toCase (one, root, run) {
  const { row, at } = one
  const { figure, unit } = comparedOf(row)
  const { isProcessorTime = false } = row
  return {
    name: nameOf(one.row.name, one.peer.name, at),
    better: isMoreBetter(unit) ? 'more' : 'less',
    isTogether: isProcessorTime,
    async measure (which) {
      const { figures } = await run({ ...one, samples: row.samples }, inTree(which === 'that' ? root : undefined, { isProcessorTime }))
      return Number(figures[figure])
    }
  }
}

/** @type {(row: string, peer: string, at?: number) => string} */
function nameOf (row, peer, at) {
  return [row, ...peer === 'millrace' ? [] : [peer], ...at === undefined ? [] : [at % 1024 === 0 ? formatKib(at) : String(at)]].join(' ')
}

/**
 * @type {(table: Table, options: any, generated: string) => Promise<import('./compare').Comparison & { label: string,
 *   unit: 'runs' }>}
 */
async function compareWithSaved (table, options, generated) {
  const { against, tolerance } = options
  const { results: there, facts } = readSaved(against, table, '--against')
  const { results: here, packages } = await measureRows(options, generated)
  const places = [...here.byPlace.values()].map(([{ row, peer, at }]) => ({ row, peer, at }))
  const cases = places.map((place) => {
    const row = options.rows.find((/** @type {{ name: string }} */ { name }) => name === place.row)
    const { figure, unit } = comparedOf(row)
    const [mine, theirs] = [here, there].map((results) => results.values({ ...place, figure }))
    const better = isMoreBetter(unit) ? /** @type {const} */ ('more') : /** @type {const} */ ('less')
    return { name: nameOf(place.row, place.peer, place.at), better, here: mine, there: theirs }
  })
  const label = `${path.basename(against)}, ${describeSaved(gatherFacts(options.command, packages), facts)}`
  return { ...compareSaved({ cases, tolerance }), label, unit: 'runs' }
}

exports.compareTrees = compareTrees
