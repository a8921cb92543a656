'use strict'
// Finds out which peers are available, fills those that will be read, and runs the jobs in rounds, each in a process of
// its own. All peers must give the same answers.

const fs = require('node:fs')
const path = require('node:path')
const { ChildError, MeasureError, createAgreement, rotate, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')

const JOBS = require.resolve('./jobs')
const SECONDS = 1.5
// Far more than any task takes. Some peers never call back.
const TIMEOUT_MS = 90_000

/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('./jobs').Job} Job */
/** @typedef {import('./jobs').Outcome} Outcome */

/**
 * One cell of the table: a peer at a job.
 * @typedef {object} Cell
 * @property {Peer} peer
 * @property {Job} job
 * @property {string} way  to query; empty for other jobs
 * @property {string} column  the name of the job, or of its case
 * @property {'binary' | 'json'} [reads]  what the store is filled with
 * @property {string[]} packages
 * @property {Outcome[]} runs
 * @property {string | undefined} absent  why there are no runs
 */

/**
 * @typedef {object} Context
 * @property {string} folder  for the stores
 * @property {{ binary: string, json: string }} logs  the sources of the records
 * @property {string} query
 * @property {number} total  number of records
 * @property {number} hits  of the query
 */

/**
 * Each round begins with another peer.
 * @param {{ peers: Peer[], jobs: Job[], runs: number, budgetMs: number }} options
 * @param {Context} context
 * @returns {Promise<Cell[]>}  of each job, peer and way
 */
async function runCases ({ peers, jobs, runs, budgetMs }, context) {
  const cells = peers.flatMap((peer) => jobs.flatMap((job) => listCells(peer, job)))
  await takeTurns(`preparing ${peers.length} peers`, peers, ({ name }) => name, (peer) => {
    return prepare(peer, cells.filter((cell) => cell.peer === peer), context)
  })
  const agree = createAgreement()
  agree('query', 'what was generated', { hits: context.hits })
  for (const job of ['append', 'scan']) agree(job, 'what was generated', { records: context.total })
  const turns = Array.from({ length: runs }, (_, run) => jobs.flatMap((job, index) => {
    // All cases of a job come from one run.
    const own = cells.filter((cell) => cell.job === job && (job.cases ?? [job.name])[0] === cell.column)
    return rotate(own, run + index).map((cell) => ({ run, cell }))
  })).flat()
  await takeTurns(`measuring ${turns.length} cases`, turns, ({ cell }) => `${cell.job.name}, ${cell.peer.name}`, async ({ run, cell }) => {
    const { peer, job, way, reads, absent } = cell
    if (absent !== undefined || (run > 0 && performance.now() > budgetMs)) return
    const own = cells.filter((one) => one.peer === peer && one.job === job && one.way === way)
    const found = await attempt(peer, own, { task: 'measure', job, way, reads }, context)
    for (const [index, outcome] of [found ?? []].flat().entries()) {
      own[index].runs.push(outcome)
      agree(job.name, peer.name, outcome.answer)
    }
  })
  return cells
}

/** @type {(peer: Peer, job: Job) => Cell[]} */
function listCells (peer, job) {
  const ways = job.mode === 'query' ? peer.ways : ['']
  const reads = job.mode === 'query' ? peer.queried : job.mode === 'read' ? 'binary' : undefined
  const absent = job.cases && !peer.openFlumelog ? 'is no log for it' : peer.cannot?.[job.name]
  return ways.flatMap((way) => (job.cases ?? [job.name]).map((column) => {
    return { peer, job, way, column, reads, packages: peer.packages, runs: [], absent }
  }))
}

/**
 * Probes and fills a peer. A cell that cannot be measured gets `absent`.
 * @type {(peer: Peer, cells: Cell[], context: Context) => Promise<void>}
 */
async function prepare (peer, cells, context) {
  const found = await attempt(peer, cells, { task: 'probe' }, context)
  for (const cell of cells) cell.packages = found?.packages ?? []
  for (const reads of /** @type {const} */ (['binary', 'json'])) {
    const readers = cells.filter((cell) => cell.absent === undefined && cell.reads === reads)
    if (readers.length > 0) await attempt(peer, readers, { task: 'fill', reads }, context)
  }
}

/**
 * Runs a task in a process of its own. If a peer fails, it is absent and the others go on. If one of ours fails, all
 * ends.
 * @param {Peer} peer
 * @param {Cell[]} cells
 * @param {{ task: string, job?: Job, way?: string, reads?: string }} order  with `reads`, it gets the folder of the
 *   filled store; otherwise a fresh folder, removed afterwards
 * @param {Context} context
 * @returns {Promise<any>}  undefined if the peer failed
 */
async function attempt (peer, cells, { task, job, way = '', reads }, { folder: root, logs, query, total }) {
  const run = (/** @type {string} */ folder) => {
    fs.mkdirSync(folder, { recursive: true })
    const setting = { folder, logs, query, way, reads, total, seconds: SECONDS }
    return runTask({ module: JOBS, task, setting }, { peer, ...(job && { job }) }, { timeoutMs: TIMEOUT_MS })
  }
  try {
    return await (reads ? run(path.join(root, `${peer.name}.${reads}`)) : withFolder(root, 'case', run))
  } catch (err) {
    if (!(err instanceof ChildError)) throw err
    if (peer.kind === 'millrace') throw new MeasureError(`${peer.name}, ${cells[0]?.job.name}: ${err.message}`)
    // The paths are of this machine only.
    for (const cell of cells) cell.absent ??= err.reason.replaceAll(`${root}${path.sep}`, '')
  }
}

exports.listCells = listCells
exports.runCases = runCases
