'use strict'
// The torture on a real file system: ext4 on disks that lose what was not flushed, and fail for a moment. Histories
// run in lanes, until as many states as wanted are examined.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { UnableError } = require('../../command')
const { STORY_NAME } = require('./history')
const { whyNot } = require('./mounts')

const ONE_FILE = path.join(__dirname, 'one-file.js')
const LANE = path.join(__dirname, 'lane.js')
const STATES = 2000
const MEMORY = '/dev/shm'
// The ones that are printed even when they are none.
const NAMED = {
  'promised lost': 'promised records lost',
  'seq given twice': 'seqs given twice',
  'left over': 'left over',
  refused: 'refusals',
  'never appended': 'never appended',
  'half a commit': 'half commits'
}

/**
 * @typedef {{ kind: string, message: string, history: number, generation: number, state: number | null,
 *   record: string | null }} DiskFailure
 */

/**
 * @param {object} [options]
 * @param {string} [options.subject]  the module of what is tortured, a Subject; the log of one file by default
 * @param {number} [options.states]  how many to examine
 * @param {number} [options.seed]
 * @param {number} [options.workers]  lanes
 * @param {string} [options.logModule]  the package to load instead of the one that ships
 * @param {boolean} [options.stop]  at the first failure
 * @param {string} [options.only]  history.generation or history.generation.state
 * @param {(line: string) => void} [options.print]
 * @param {string} [options.record]  a folder that a failure has left, to examine its states again
 * @returns {Promise<{ failures: DiskFailure[], figures: Record<string, any> }>}
 * @throws {UnableError}
 */
async function runDisk (options = {}) {
  const obstacle = whyNot()
  if (obstacle) throw new UnableError(`--disk cannot be run here: ${obstacle}`)
  const { subject = ONE_FILE, states = STATES, workers = 2, stop = false, record, print = console.log } = options
  const { command, logModule: shipped } = require(subject)
  const { logModule = shipped } = options
  const kept = record === undefined ? null : readKept(record)
  const { seed, only } = { seed: newSeed(), ...options, ...kept }
  const campaign = new Campaign({ states, seed, stop, command, print })
  const folder = fs.mkdtempSync(path.join(fs.existsSync(MEMORY) ? MEMORY : os.tmpdir(), 'millrace-disk-'))
  try {
    const place = only === undefined ? null : parsePlace(only)
    const count = place === null ? Math.max(1, workers) : 1
    await Promise.all(Array.from({ length: count }, (_, first) => {
      const own = path.join(folder, String(first))
      fs.mkdirSync(own)
      const shared = { subject, logModule, seed, stride: count, only: place, record: record ?? null }
      return campaign.runLane({ ...shared, folder: own, first })
    }))
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  campaign.printFigures()
  return { failures: campaign.failures, figures: campaign.figures }
}

function newSeed () {
  return Date.now() % 2 ** 31
}

/**
 * @param {string} folder
 * @returns {{ seed: number, only: string }}
 */
function readKept (folder) {
  return JSON.parse(fs.readFileSync(path.join(folder, STORY_NAME), 'utf8'))
}

/** @param {string} only */
function parsePlace (only) {
  const [, history, generation, state] = /^(\d+)\.(\d+)(?:\.(\d+))?$/.exec(only) ?? []
  if (history === undefined) throw new Error(`--only: expected history.generation.state, got ${only}`)
  return { history: Number(history), generation: Number(generation), state: state === undefined ? null : Number(state) }
}

class Campaign {
  /**
   * @param {{ states: number, seed: number, stop: boolean, command: string, print: (line: string) => void }} options
   */
  constructor ({ states, seed, stop, command, print }) {
    this._command = command
    this._statesMax = states
    this._seed = seed
    this._stop = stop
    this._print = print
    this._startedMs = Date.now()
    /** @type {DiskFailure[]} */
    this.failures = []
    this._digests = new Set()
    /** @type {Record<string, { cut: number, fault: number }>} */
    this._modes = {}
    /** @type {number[]} */
    this._generations = []
    this.figures = { states: 0, distinct: 0, recovered: 0, ms: 0, modes: this._modes, generations: this._generations }
  }

  get _isOver () {
    return this.figures.states >= this._statesMax || (this._stop && this.failures.length > 0)
  }

  /**
   * @param {import('./lane').LaneOptions} options
   * @returns {Promise<void>}
   */
  runLane (options) {
    const command = ['unshare', '-m', '--propagation', 'private', process.execPath, LANE, JSON.stringify(options)]
    const lane = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    return new Promise((resolve, reject) => {
      lane.on('message', (/** @type {any} */ { state, failure }) => {
        if (state) this._take(state)
        if (failure) this._fail(failure)
        if (this._isOver && lane.connected) lane.send('end')
      })
      lane.on('error', reject)
      lane.on('exit', (code, signal) => code === 0 ? resolve() : reject(new Error(`a lane ended with ${code ?? signal}`)))
    })
  }

  /** @param {import('./history').StateReport} state */
  _take ({ data, fsync, kind, generation, digest, hasRecovered }) {
    const { figures } = this
    figures.states++
    if (hasRecovered) figures.recovered++
    this._digests.add(digest)
    figures.distinct = this._digests.size
    const mode = figures.modes[`data=${data}, fsync ${fsync}`] ??= { cut: 0, fault: 0 }
    mode[kind]++
    figures.generations[generation] = (figures.generations[generation] ?? 0) + 1
  }

  /** @param {DiskFailure} failure */
  _fail (failure) {
    this.failures.push(failure)
    // One that fails is examined too.
    if (failure.state !== null) this.figures.states++
    const { kind, message, history, generation, state, record } = failure
    const place = [history, generation, ...(state === null ? [] : [state])].join('.')
    this._print(`FAILED  state ${place}: ${kind}: ${message}`)
    this._print(`  ${this._command} --seed ${this._seed} --only ${place}`)
    // When the kernel writes what is never quite the same again.
    if (record) this._print(`  ${this._command} --record ${record}`)
  }

  printFigures () {
    const { figures, failures } = this
    figures.ms = Date.now() - this._startedMs
    this._print(`seed ${this._seed}: ${figures.states} states of a real ext4, ${figures.distinct} distinct, in ` +
      `${(figures.ms / 1000).toFixed(0)} s; ${figures.recovered} had something to recover; after crash number ` +
      figures.generations.map((count, generation) => `${generation + 1}: ${count}`).join(', '))
    for (const [mode, { cut, fault }] of Object.entries(figures.modes).sort()) {
      this._print(`${mode}: ${cut} states after power cuts, ${fault} after a disk that failed too`)
    }
    const count = (/** @type {string} */ wanted) => failures.filter(({ kind }) => kind === wanted).length
    this._print(Object.entries(NAMED).map(([kind, name]) => `${count(kind)} ${name}`).join(', '))
    const others = failures.filter(({ kind }) => !(kind in NAMED)).map(({ kind }) => kind)
    if (others.length > 0) this._print(`${others.length} others: ${[...new Set(others)].join(', ')}`)
  }
}

exports.runDisk = runDisk
exports.whyNot = whyNot
