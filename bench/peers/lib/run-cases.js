'use strict'
// Finds out which peers are there, fills those that will be read, and runs round after round of the jobs, each in a
// process of its own. All must come to the same.

const fs = require('node:fs')
const path = require('node:path')
const { DisagreementError } = require('../../lib/agreement')
const { MeasureError } = require('../../lib/measure')
const { fileOf } = require('../../lib/parts')
const { createProgress } = require('../../lib/progress')
const { ChildError, runChild } = require('../../lib/run-child')

const CHILD = path.join(__dirname, '..', 'child.js')
const SECONDS = 1.5

/** @typedef {import('./shapes').Peer} Peer */
/** @typedef {import('./shapes').Job} Job */
/** @typedef {import('./shapes').Cell} Cell */
/** @typedef {import('./shapes').Outcome} Outcome */

/**
 * @typedef {object} Context
 * @property {string} folder  for the stores
 * @property {{ binary: string, json: string }} logs  what the records are taken from
 * @property {string} query
 * @property {number} total  records
 * @property {number} hits  of the query
 */

/**
 * Rounds are outermost, and another peer is first in each: what slows the machine for a while slows all.
 * @param {import('./options').Options} options
 * @param {Context} context
 * @returns {Promise<Cell[]>}  of each job, peer and way
 */
async function runCases ({ peers, jobs, runs, budgetMs }, context) {
  const cells = peers.flatMap((peer) => jobs.flatMap((job) => listCells(peer, job)))
  await prepare(peers, jobs, cells, context)
  const agree = createAgreement(context)
  const rounds = Array.from({ length: runs }, (_, run) => jobs.flatMap((job, index) => {
    return rotate(cells.filter((cell) => cell.job === job), run + index).map((cell) => ({ run, cell }))
  })).flat()
  const progress = createProgress(`measuring ${cells.filter((cell) => cell.absent === undefined).length} cases`, rounds.length)
  for (const [index, { run, cell }] of rounds.entries()) {
    progress.update(index, `${cell.job.name}, ${cell.peer.name}`)
    if (cell.absent !== undefined || (run > 0 && performance.now() > budgetMs)) continue
    const outcome = await attempt(cell.peer, [cell], () => measure(cell, context))
    if (outcome === undefined) continue
    cell.runs.push(outcome)
    agree(cell, outcome.answer)
  }
  progress.end()
  return cells
}

/**
 * @param {Peer} peer
 * @param {Job} job
 * @returns {Cell[]}
 */
function listCells (peer, job) {
  const ways = job.mode === 'query' ? peer.ways : ['']
  return ways.map((way) => ({ peer, job, way, packages: peer.packages, runs: [], absent: peer.cannot?.[job.name] }))
}

/**
 * @param {Peer[]} peers
 * @param {Job[]} jobs
 * @param {Cell[]} cells  those that cannot be measured are told why
 * @param {Context} context
 */
async function prepare (peers, jobs, cells, context) {
  const progress = createProgress(`preparing ${peers.length} peers`, peers.length)
  for (const [index, peer] of peers.entries()) {
    progress.update(index, peer.name)
    const own = cells.filter((cell) => cell.peer === peer)
    const found = await attempt(peer, own, () => {
      return inFolder(context.folder, (folder) => runTask(peer, { task: 'probe' }, folder, context))
    })
    for (const cell of own) cell.packages = found?.packages ?? []
    for (const format of /** @type {const} */ (['binary', 'json'])) {
      const readers = own.filter((cell) => cell.absent === undefined && formatOf(peer, cell.job) === format)
      if (readers.length === 0) continue
      const folder = fillFolder(peer, format, context)
      fs.mkdirSync(folder)
      await attempt(peer, readers, () => runTask(peer, { task: 'fill', format }, folder, context))
    }
  }
  progress.end()
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
 * @returns {Promise<Outcome>}
 */
function measure ({ peer, job, way }, context) {
  const order = { task: 'measure', jobFile: fileOf(job), way }
  const format = formatOf(peer, job)
  if (format !== undefined) return runTask(peer, order, fillFolder(peer, format, context), context)
  return inFolder(context.folder, (folder) => runTask(peer, order, folder, context))
}

/**
 * @param {Peer} peer
 * @param {{ task: string, jobFile?: string, way?: string, format?: string }} order
 * @param {string} folder
 * @param {Context} context
 */
async function runTask (peer, { way = '', ...order }, folder, { logs, query, total }) {
  const setting = { folder, logs, query, way, total, seconds: SECONDS }
  const answer = await runChild(CHILD, { ...order, peerFile: fileOf(peer), setting })
  // Paths belong to the machine.
  if ('failure' in answer) throw new ChildError(answer.failure.replaceAll(`${path.dirname(folder)}${path.sep}`, ''))
  return answer
}

/**
 * @template T
 * @param {string} parent
 * @param {(folder: string) => Promise<T>} use  a fresh one, gone afterwards
 */
async function inFolder (parent, use) {
  const folder = fs.mkdtempSync(path.join(parent, 'case-'))
  try {
    return await use(folder)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {Context} context
 * @returns {(cell: Cell, answer: Outcome['answer']) => void}
 */
function createAgreement ({ total, hits }) {
  /** @type {Map<string, { by: string, value: number | string }>} */
  const firsts = new Map([['scan records', total], ['append records', total], ['query hits', hits]].map(([key, value]) => {
    return [String(key), { by: 'what was generated', value }]
  }))
  return ({ peer, job }, answer) => {
    for (const [name, value] of Object.entries(answer)) {
      const first = firsts.get(`${job.name} ${name}`)
      if (first === undefined) firsts.set(`${job.name} ${name}`, { by: peer.name, value })
      else if (first.value !== value) {
        throw new DisagreementError(`${job.name}: ${name} is ${value} by ${peer.name}, and ${first.value} by ${first.by}`)
      }
    }
  }
}

/**
 * @template T
 * @param {T[]} list
 * @param {number} by
 */
function rotate (list, by) {
  const start = list.length === 0 ? 0 : by % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}

exports.runCases = runCases
