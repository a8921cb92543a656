'use strict'
// Measures rows: prepares them stage by stage, then runs every case in a process of its own, in rounds. A peer that is
// not there, or fails, is absent, and the others go on; Millrace must not fail. Those that did the same must agree.

const fs = require('node:fs')
const path = require('node:path')
const { ChildError, MeasureError, createAgreement, rotate, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')
const { Results } = require('./results')

const TIMEOUT_MS = 90_000
/** Stands for all peers where a whole row is absent. */
const ALL = { name: '*' }
let caseCount = 0

/** @typedef {import('./row').Row} Row */
/** @typedef {import('./row').Peer} Peer */
/** @typedef {import('./row').Reading} Reading */
/**
 * @typedef {{ row: Row, peer: Peer, at?: number, setting?: any, samples?: number }} Case  `setting`: what was
 *   prepared
 */
/** @typedef {Case & { run: number }} Turn */
/** @typedef {{ rows: Row[], peers: Peer[], runs: number, budgetMs: number, samples?: number }} Options */

/**
 * Cases whose rows are prepared.
 * @typedef {object} Stage
 * @property {string} name
 * @property {Case[]} cases
 * @property {(one: Case, child?: import('../lib/run').ChildOptions) => Promise<Reading>} run  once
 */

/**
 * @param {Options} options
 * @param {string} generated
 * @returns {Promise<{ results: Results, packages: string[], input?: string, skipped: number }>}  `input`: what was
 *   read;
 *   `skipped` counts the second and later runs that there was no time for
 */
async function measureRows (options, generated) {
  /** @type {import('./results').Run[]} */
  const runs = []
  const packages = new Set()
  let skipped = 0
  const { absences, input } = await eachStage(options, generated, async ({ name, cases, run }, setAbsent, isAbsent) => {
    await takeTurns(`measuring ${cases.length} cases${name}`, planTurns(cases, options.runs), describe, async (turn) => {
      const { row, peer, at } = turn
      if (isAbsent(row, peer)) return
      if (turn.run > 1 && performance.now() > options.budgetMs) return skipped++
      try {
        const reading = await run(turn)
        for (const one of reading.packages ?? peer.packages ?? []) packages.add(one)
        const { figures, tail } = reading
        runs.push({ row: row.name, peer: peer.name, at, run: turn.run, figures, ...(tail && { tail }) })
      } catch (err) {
        if (!(err instanceof ChildError)) throw err
        if (peer.kind === 'millrace') throw new MeasureError(`${describe(turn)}: ${err.message}`)
        setAbsent(row, peer, toReason(err.reason, generated))
      }
    })
  })
  return { results: new Results(runs, absences), packages: [...packages], input, skipped }
}

/**
 * Prepares the rows of each stage, and gives its cases to `use`.
 * @param {Omit<Options, 'runs' | 'budgetMs'>} options
 * @param {string} generated
 * @param {(stage: Stage, setAbsent: (row: Row, peer: Peer, reason: string) => void, isAbsent: (row: Row, peer: Peer)
 *   => boolean) => Promise<void>} use
 * @returns {Promise<{ absences: import('./results').Absence[], input?: string }>}
 */
async function eachStage (options, generated, use) {
  const { rows, peers } = options
  /** @type {Map<string, import('./results').Absence>} */
  const absences = new Map()
  const keyOf = (/** @type {Row} */ row, /** @type {{ name: string }} */ peer) => `${row.name} ${peer.name}`
  const isAbsent = (/** @type {Row} */ row, /** @type {Peer} */ peer) => {
    return [peer, ALL].some((one) => absences.has(keyOf(row, one)))
  }
  const setAbsent = (/** @type {Row} */ row, /** @type {{ name: string }} */ peer, /** @type {string} */ reason) => {
    absences.set(keyOf(row, peer), { row: row.name, peer: peer.name, reason })
  }
  const made = new Map()
  const agree = createAgreement()
  for (const stage of new Set(rows.map(({ stage }) => stage))) {
    const own = rows.filter((row) => row.stage === stage)
    await withFolder(generated, 'stage', async (shared) => {
      /** @type {Map<Row, any>} */
      const settings = new Map()
      /** @type {Array<() => unknown>} */
      const releases = []
      try {
        for (const row of own) {
          const reason = findMissing(row)
          const given = { shared, generated, options, made, releases }
          const setting = reason === undefined ? await prepare(row, given) : { absent: reason }
          settings.set(row, setting)
          agreeOn(agree, row, 'what was prepared', setting)
          if (setting.absent !== undefined) setAbsent(row, ALL, setting.absent)
          for (const peer of peers) {
            const why = row.cannot?.[peer.name] ?? setting.cannot?.[peer.name]
            if (why !== undefined) setAbsent(row, peer, toReason(why, generated))
          }
        }
        const cases = own.flatMap((row) => (row.at ?? [undefined]).flatMap((at) => {
          const present = peers.filter((peer) => row.peers[peer.name] !== undefined && !isAbsent(row, peer))
          return present.map((peer) => ({ row, peer, at, setting: settings.get(row) }))
        }))
        /** @type {Stage['run']} */
        const run = async (one, child = {}) => {
          const reading = await runCase(one, generated, options, child)
          agreeOn(agree, one.row, `${one.peer.name}${one.at === undefined ? '' : ` at ${one.at}`}`, reading)
          return reading
        }
        if (cases.length > 0) await use({ name: stage === undefined ? '' : ` of ${stage}`, cases, run }, setAbsent, isAbsent)
      } finally {
        for (const release of releases.reverse()) await release()
      }
    })
  }
  // A row that reads a log of the bench says once what that is.
  return { absences: [...absences.values()], input: await made.get('input') }
}

/** Without the paths, which are of this machine only. @type {(reason: string, generated: string) => string} */
function toReason (reason, generated) {
  return reason.replaceAll(`${generated}${path.sep}`, '')
}

/** What the row needs and does not find. @param {Row} row */
function findMissing ({ needs = {} }) {
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
 * @param {Row} row
 * @param {{ shared: string, generated: string, options: any, made: Map<string, any>, releases: Array<() => unknown>
 *   }} given
 */
async function prepare (row, { shared, generated, options, made, releases }) {
  const folder = path.join(shared, row.name)
  fs.mkdirSync(folder)
  /** @type {import('./row').Context['once']} */
  const once = (name, make) => {
    if (!made.has(name)) made.set(name, make())
    return made.get(name)
  }
  const onEnd = (/** @type {() => unknown} */ release) => { releases.push(release) }
  return { ...row.setting, ...await row.prepare?.({ folder, shared, generated, options, once, onEnd }) }
}

/**
 * @type {(one: Case, generated: string, options: { samples?: number }, child: import('../lib/run').ChildOptions) =>
 *   Promise<Reading>}
 */
function runCase ({ row, peer, at, setting, ...own }, generated, options, child) {
  const samples = options.samples ?? own.samples
  // Two cases may run at once, where trees are compared.
  return withFolder(generated, `case-${++caseCount}`, (folder) => {
    fs.mkdirSync(folder, { recursive: true })
    const order = { module: __filename, task: 'measureCase', setting, folder, at, samples }
    const { timeoutMs = TIMEOUT_MS, env } = row
    return runTask(order, { row, peer }, { timeoutMs, ...child, env: { ...env, ...child.env } })
  })
}

/** In the child. @type {(order: Omit<import('./row').Order, 'side'>) => Promise<Reading>} */
async function measureCase (order) {
  const { row, peer } = order
  // A peer that was given as a module is in no list of the rows.
  const reading = await row.measure({ ...order, side: row.peers[peer.name] ?? {} })
  // The first figure of the row stays the first one in its results, whatever else was measured on the way.
  const [{ figure }] = row.figures
  return { ...reading, figures: { [figure]: reading.figures[figure], ...reading.figures } }
}

/**
 * Rounds are outermost, and within them those that are compared take turns, each round another one first: what slows
 * the machine for a while slows all of them. Should time run out, it does so at the end: there are the repeats of slow
 * rows, and of small sizes.
 * @param {Case[]} cases
 * @param {number} runs
 * @returns {Turn[]}
 */
function planTurns (cases, runs) {
  /** @type {Map<string, Case[]>} those that are compared */
  const compared = new Map()
  for (const one of cases) {
    const key = `${one.row.name} ${one.at}`
    compared.set(key, [...compared.get(key) ?? [], one])
  }
  const groups = [...compared.values()].reverse()
  const plan = (/** @type {Case[][]} */ own, /** @type {number} */ run) => own.flatMap((group, index) => {
    return rotate(group, run + index).flatMap((one) => {
      const most = one.row.isOnce?.(one) ? 1 : one.row.runs ?? runs
      return run <= most ? [{ ...one, run }] : []
    })
  })
  const rounds = Array.from({ length: runs }, (_, index) => index + 1)
  const [, ...later] = rounds
  return [
    ...plan(groups, 1),
    ...[false, true].flatMap((isLast) => {
      const own = groups.filter(([{ row }]) => Boolean(row.isLast) === isLast)
      return later.flatMap((run) => plan(own, run))
    })
  ]
}

/**
 * @type {(agree: ReturnType<typeof createAgreement>, row: Row, by: string, given: { answers?: Reading['answers'] })
 *   => void}
 */
function agreeOn (agree, row, by, { answers = {} }) {
  for (const [name, answer] of Object.entries(answers)) agree(`row ${row.name}${name && `, ${name}`}`, by, answer)
}

/** @param {Case} one */
function describe ({ row, peer, at }) {
  return `row ${row.name}, ${peer.name}${at === undefined ? '' : `, ${at}`}`
}

exports.measureRows = measureRows
exports.eachStage = eachStage
exports.measureCase = measureCase
exports.planTurns = planTurns
exports.describe = describe
