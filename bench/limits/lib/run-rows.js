'use strict'
// Runs the rows: prepares them, then round after round every side of every row in a process of its own, and insists
// that the sides of a row did the same work.

const path = require('node:path')
const { DisagreementError } = require('../../lib/agreement')
const { MeasureError } = require('../../lib/measure')
const { fileOf } = require('../../lib/parts')
const { createProgress } = require('../../lib/progress')
const { ChildError, runChild } = require('../../lib/run-child')

const CHILD = path.join(__dirname, '..', 'child.js')

/** @typedef {import('./shapes').Row} Row */
/** @typedef {import('./shapes').Answer} Answer */
/** @typedef {import('./shapes').Outcome} Outcome */
/** @typedef {import('./shapes').Result} Result */
/** @typedef {{ result: Result, setting: any, agree: (side: string, answer: Answer) => void }} Job */

/**
 * Rounds are outermost and the sides take turns to be first: what slows the machine for a while slows all of them.
 * @param {{ rows: Row[], runs: number, samples?: number }} options
 * @param {import('./context').Contexts} contexts
 * @returns {Promise<Result[]>}
 */
async function runRows ({ rows, runs, samples }, contexts) {
  /** @type {Result[]} */
  const results = rows.map((row) => ({ row, absent: findAbsent(row), rounds: [] }))
  /** @type {Job[]} */
  const jobs = []
  for (const result of results) {
    if (result.absent !== undefined) continue
    const job = await prepare(result, contexts)
    // What there must be enough of is known only now.
    result.absent = job.setting?.absent
    if (result.absent === undefined) jobs.push(job)
  }

  const turns = Array.from({ length: runs }, (_, run) => {
    return jobs.filter(({ result }) => run === 0 || !result.row.isExact).map((job) => ({ job, run }))
  }).flat()
  const progress = createProgress(`measuring ${jobs.length} rows`, turns.length)
  for (const [index, { job, run }] of turns.entries()) {
    progress.update(index, job.result.row.name)
    job.result.rounds.push(await runRound(job, run, samples))
  }
  progress.end()
  return results
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
 * @param {Result} result
 * @param {import('./context').Contexts} contexts
 * @returns {Promise<Job>}
 */
async function prepare (result, contexts) {
  const { row } = result
  const setting = await row.prepare(contexts.create(row.name))
  return { result, setting, agree: createAgreement(row, setting?.expected) }
}

/**
 * @param {Job} job
 * @param {number} run
 * @param {number} [samples]
 */
async function runRound ({ result: { row }, setting, agree }, run, samples) {
  /** @type {import('./shapes').SideName[]} */
  const sides = row.bound ? ['ours', 'peer', 'bound'] : ['ours', 'peer']
  if (run % 2 === 1) sides.reverse()
  /** @type {Partial<import('./shapes').Round>} */
  const round = {}
  for (const side of sides) {
    const outcome = await runSide(row, side, { setting, samples })
    agree(side, outcome.answer)
    round[side] = outcome
  }
  return /** @type {import('./shapes').Round} */ (round)
}

/**
 * @param {Row} row
 * @param {import('./shapes').SideName} side
 * @param {{ setting: any, samples?: number }} order
 * @returns {Promise<Outcome>}
 */
async function runSide (row, side, order) {
  try {
    return await runChild(CHILD, { rowFile: fileOf(row), side, ...order }, { env: row.env })
  } catch (err) {
    throw err instanceof ChildError ? new MeasureError(`row ${row.name}, ${side}: ${err.message}`) : err
  }
}

/**
 * A ratio means nothing when the two did not do the same.
 * @param {Row} row
 * @param {Answer} [expected]
 * @returns {(side: string, answer: Answer) => void}
 */
function createAgreement (row, expected = {}) {
  /** @type {Map<string, { side: string, value: number | string }>} */
  const firsts = new Map()
  const agree = (/** @type {string} */ side, /** @type {Answer} */ answer) => {
    for (const [key, value] of Object.entries(answer)) {
      const first = firsts.get(key)
      if (first === undefined) firsts.set(key, { side, value })
      else if (first.value !== value) {
        throw new DisagreementError(`row ${row.name}: ${key} is ${value} by ${side}, and ${first.value} by ${first.side}`)
      }
    }
  }
  agree('what was prepared', expected)
  return agree
}

exports.runRows = runRows
