'use strict'
// Finds out which peers are there, fills those that will be read, and runs round after round of the jobs, each in a
// process of its own. All must come to the same.

const fs = require('node:fs')
const path = require('node:path')
const { findPart, locate } = require('../lib/parts')
const { call } = require('../lib/pipeline')
const { ChildError, MeasureError, createAgreement, rotate, runTask, takeTurns } = require('../lib/run')
const { withFolder } = require('../lib/work-file')
const { fill } = require('./jobs')

const SECONDS = 1.5
// Far above what any task takes.
const TIMEOUT_MS = 90_000

/** @typedef {import('../stores').Peer} Peer */
/** @typedef {import('./jobs').Job} Job */
/** @typedef {import('./jobs').Outcome} Outcome */

/**
 * One cell of the table: a peer at a job, in one way.
 * @typedef {object} Cell
 * @property {Peer} peer
 * @property {Job} job
 * @property {string} way  empty but for queries
 * @property {string} column  the name of the job, or of its case
 * @property {string[]} packages
 * @property {Outcome[]} runs
 * @property {string | undefined} absent  why there are none
 */

/**
 * @typedef {object} Context
 * @property {string} folder  for the stores
 * @property {{ binary: string, json: string }} logs  what the records are taken from
 * @property {string} query
 * @property {number} total  records
 * @property {number} hits  of the query
 */

/**
 * Another peer is first in each round.
 * @param {{ peers: Peer[], jobs: Job[], runs: number, budgetMs: number }} options
 * @param {Context} context
 * @returns {Promise<Cell[]>}  of each job, peer and way
 */
async function runCases ({ peers, jobs, runs, budgetMs }, context) {
  const cells = peers.flatMap((peer) => jobs.flatMap((job) => listCells(peer, job)))
  await prepare(peers, cells, context)
  const agree = createAgreement()
  const { total, hits } = context
  agree('query', 'what was generated', { hits })
  for (const job of ['append', 'scan']) agree(job, 'what was generated', { records: total })
  const turns = Array.from({ length: runs }, (_, run) => jobs.flatMap((job, index) => {
    // What has cases comes to all of them at once.
    const own = cells.filter((cell) => cell.job === job && (job.cases ?? [job.name])[0] === cell.column)
    return rotate(own, run + index).map((cell) => ({ run, cell }))
  })).flat()
  await takeTurns(`measuring ${turns.length} cases`, turns, ({ cell }) => `${cell.job.name}, ${cell.peer.name}`, async ({ run, cell }) => {
    if (cell.absent !== undefined || (run > 0 && performance.now() > budgetMs)) return
    const own = cells.filter(({ peer, job, way }) => peer === cell.peer && job === cell.job && way === cell.way)
    const outcomes = [await attempt(cell.peer, own, () => measure(cell, context)) ?? []].flat()
    for (const [index, outcome] of outcomes.entries()) {
      own[index].runs.push(outcome)
      agree(cell.job.name, cell.peer.name, outcome.answer)
    }
  })
  return cells
}

/**
 * @param {Peer} peer
 * @param {Job} job
 * @returns {Cell[]}
 */
function listCells (peer, job) {
  const ways = job.mode === 'query' ? peer.ways : ['']
  const absent = job.mode === 'flumelog' && !peer.openFlumelog ? 'is no log for it' : peer.cannot?.[job.name]
  return ways.flatMap((way) => (job.cases ?? [job.name]).map((column) => {
    return { peer, job, way, column, packages: peer.packages, runs: [], absent }
  }))
}

/**
 * @param {Peer[]} peers
 * @param {Cell[]} cells  those that cannot be measured are told why
 * @param {Context} context
 */
async function prepare (peers, cells, context) {
  await takeTurns(`preparing ${peers.length} peers`, peers, ({ name }) => name, async (peer) => {
    const own = cells.filter((cell) => cell.peer === peer)
    const found = await attempt(peer, own, () => runPeer(peer, { task: 'probe' }, undefined, context))
    for (const cell of own) cell.packages = found?.packages ?? []
    for (const format of /** @type {const} */ (['binary', 'json'])) {
      const readers = own.filter((cell) => cell.absent === undefined && formatOf(peer, cell.job) === format)
      if (readers.length === 0) continue
      const folder = fillFolder(peer, format, context)
      fs.mkdirSync(folder)
      await attempt(peer, readers, () => runPeer(peer, { task: 'fill', format }, folder, context))
    }
  })
}

/**
 * What a job reads of a peer.
 * @param {Peer} peer
 * @param {Job} job
 * @returns {'binary' | 'json' | undefined}
 */
function formatOf (peer, { mode }) {
  if (mode === 'query') return peer.queried
  return mode === 'read' ? 'binary' : undefined
}

/**
 * @param {Peer} peer
 * @param {'binary' | 'json'} format
 * @param {Context} context
 */
function fillFolder (peer, format, { folder }) {
  return path.join(folder, `${peer.name}.${format}`)
}

/**
 * A peer that fails is absent, and the rest runs. One of ours that fails ends it all.
 * @template T
 * @param {Peer} peer
 * @param {Cell[]} cells
 * @param {() => Promise<T>} run
 * @returns {Promise<T | undefined>}
 */
async function attempt (peer, cells, run) {
  try {
    return await run()
  } catch (err) {
    if (!(err instanceof ChildError)) throw err
    if (peer.kind === 'millrace') throw new MeasureError(`${peer.name}, ${cells[0]?.job.name}: ${err.message}`)
    // What a process died of may be long.
    for (const cell of cells) cell.absent ??= err.message.split('\n')[0]
    return undefined
  }
}

/**
 * @param {Cell} cell
 * @param {Context} context
 * @returns {Promise<Outcome | Outcome[]>}
 */
function measure ({ peer, job, way }, context) {
  const format = formatOf(peer, job)
  const folder = format && fillFolder(peer, format, context)
  return runPeer(peer, { task: 'measure', job: locate(job), way }, folder, context)
}

/**
 * @param {Peer} peer
 * @param {{ task: string, job?: object, way?: string, format?: string }} order
 * @param {string | undefined} folder  without one it gets a fresh one, gone afterwards
 * @param {Context} context
 * @returns {Promise<any>}
 */
async function runPeer (peer, { task, way = '', ...order }, folder, context) {
  const { logs, query, total } = context
  if (!folder) return withFolder(context.folder, 'case', (own) => runPeer(peer, { task, way, ...order }, own, context))
  const setting = { folder, logs, query, way, total, seconds: SECONDS }
  const answer = await runTask({ module: __filename, task: 'answer', what: task, peer: locate(peer), ...order, setting })
  // Paths belong to the machine.
  if ('failure' in answer) throw new ChildError(answer.failure.replaceAll(`${path.dirname(folder)}${path.sep}`, ''))
  return answer
}

/**
 * In the child: what was asked for, or `{ failure }` where the peer has failed. Some peers throw where nobody can catch
 * it, and some never call back.
 * @param {any} order
 */
function answer ({ what, peer: place, job, format, setting }) {
  /** @type {Peer} */
  const peer = findPart(place)
  const fail = (/** @type {any} */ err) => ({ failure: String(err?.message ?? err).split('\n')[0] })
  /** @type {Record<string, () => Promise<any>>} */
  const tasks = {
    probe: () => probe(peer, setting),
    fill: () => fill(peer, setting, format),
    measure: () => findPart(job).measure(peer, setting)
  }
  return new Promise((resolve) => {
    setTimeout(() => resolve(fail(`did not come to its end within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS)
    process.on('uncaughtException', (err) => resolve(fail(err)))
    tasks[what]().then(resolve, (err) => resolve(fail(err)))
  })
}

/**
 * Whether a peer is there at all: what it needs loads, and it takes a record.
 * @param {Peer} peer
 * @param {{ folder: string }} setting
 * @returns {Promise<{ packages: string[] }>}
 */
async function probe (peer, { folder }) {
  const store = await peer.open(folder, 'append')
  await call((cb) => store.append([Buffer.from('a record')], cb))
  await store.settle?.()
  await store.close()
  return { packages: store.packages ?? peer.packages }
}

exports.runCases = runCases
exports.answer = answer
exports.probe = probe
