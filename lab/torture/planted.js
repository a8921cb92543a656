'use strict'
// Plants known bugs into copies of the shipping source, one at a time, and lets the oracles look for them: a harness
// that finds nothing in the log must find something in each of these.

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { applyPatches, copySource } = require('./copy-source')

const FOLDER = path.join(__dirname, 'planted')
const ORACLES = path.join(__dirname, 'oracles')
const RUN_ORACLE = path.join(ORACLES, 'run-oracle.js')
const SEED = 1
// An oracle that has not ended by then never will.
const ORACLE_MS_MAX = 1_200_000

/**
 * @typedef {object} Bug
 * @property {string} name
 * @property {string} why  what comes of it
 * @property {import('./copy-source').Patch[]} patches
 * @property {string} oracle  a module in oracles
 * @property {string[]} [kinds]  the failures that count as catching it: by default any but an exception that nobody
 *   catches, which a patch would cause that is no more than nonsense
 */

/**
 * @typedef {import('./oracles/run-oracle').Verdict & { seconds: number, brokenBy?: string }} TimedVerdict
 */

/**
 * @param {object} [options]
 * @param {number} [options.seed]  of the oracles, with and without a bug
 * @param {string} [options.only]  a part of names: the other bugs are left out
 * @param {string} [options.oracle]  only those that it finds
 * @param {(line: string) => void} [options.print]
 * @returns {Promise<{ failures: Array<{ kind: string, message: string }>, figures: Record<string, number> }>}
 */
async function runPlanted ({ seed = SEED, only = '', oracle, print = console.log } = {}) {
  const bugs = loadBugs()
  const failures = checkPatches(bugs)
  const wanted = bugs.filter((bug) => bug.name.includes(only) && (oracle === undefined || bug.oracle === oracle))
  const chosen = wanted.filter((bug) => canRun(bug, print))
  if (wanted.length === 0) failures.push({ kind: 'nothing to do', message: `no bug has ${only} in its name` })
  const figures = { bugs: chosen.length, caught: 0 }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-planted-'))
  const fail = (/** @type {string} */ kind, /** @type {string} */ message) => failures.push({ kind, message })
  try {
    if (failures.length === 0) {
      const runner = new Runner({ folder, seed, print, fail, figures })
      const oracles = [...new Set(chosen.map(({ oracle }) => oracle))]
      await inPairs(oracles, (oracle) => runner.checkUnpatched(oracle))
      if (failures.length === 0) await inPairs(chosen, (bug) => runner.checkBug(bug))
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  for (const { kind, message } of failures) print(`FAILED  ${kind}: ${message}`)
  print(`planted: ${figures.caught} of ${figures.bugs} bugs caught; seed ${seed}`)
  return { failures, figures }
}

/**
 * @param {Bug} bug
 * @param {(line: string) => void} print
 * @returns {boolean}  whether this machine has what its oracle needs
 */
function canRun ({ name, oracle }, print) {
  const obstacle = require(path.join(ORACLES, oracle)).whyNot?.() ?? null
  if (obstacle !== null) print(`left out    ${name}: ${oracle} cannot be run here: ${obstacle}`)
  return obstacle === null
}

class Runner {
  /**
   * @param {object} options
   * @param {string} options.folder
   * @param {number} options.seed
   * @param {(line: string) => void} options.print
   * @param {(kind: string, message: string) => void} options.fail
   * @param {{ bugs: number, caught: number }} options.figures
   */
  constructor ({ folder, seed, print, fail, figures }) {
    this._folder = folder
    this._seed = seed
    this._print = print
    this._fail = fail
    this._figures = figures
    this._unpatched = copySource(path.join(folder, 'unpatched'), [])
  }

  /** @param {string} oracle  which must find nothing in the source as it ships */
  async checkUnpatched (oracle) {
    const verdict = await this._examine(this._unpatched, oracle)
    const message = verdict.brokenBy ?? verdict.failures[0]?.message
    if (message !== undefined) return this._fail('unpatched', `${oracle}, seed ${this._seed}: ${message}`)
    this._print(`unpatched   passes ${oracle}, ${seconds(verdict)}`)
  }

  /** @param {Bug} bug */
  async checkBug (bug) {
    const logModule = copySource(path.join(this._folder, bug.name), bug.patches)
    const verdict = await this._examine(logModule, bug.oracle)
    const { failures, brokenBy } = verdict
    const caught = failures.find(({ kind }) => bug.kinds ? bug.kinds.includes(kind) : kind !== 'thrown')
    if (caught) {
      this._figures.caught++
      this._print(`caught      ${bug.name} by ${bug.oracle}: ${caught.kind}, ${seconds(verdict)}`)
      return
    }
    const found = brokenBy ?? (failures[0] ? `found instead: ${failures[0].kind}: ${failures[0].message}` : 'nothing found')
    this._print(`NOT CAUGHT  ${bug.name} by ${bug.oracle}, ${seconds(verdict)}`)
    this._fail('not caught', `${bug.name} (${bug.why}): ${found}`)
  }

  /**
   * @param {string} logModule
   * @param {string} oracle
   * @returns {Promise<TimedVerdict>}
   */
  _examine (logModule, oracle) {
    const input = { oracle, logModule, seed: this._seed }
    const started = Date.now()
    return new Promise((resolve) => {
      const child = spawn(process.execPath, [RUN_ORACLE, JSON.stringify(input)], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
      const timer = setTimeout(() => child.kill('SIGKILL'), ORACLE_MS_MAX)
      let verdict = ''
      let errors = ''
      child.stdio[3]?.on('data', (chunk) => { verdict += chunk })
      child.stderr?.on('data', (chunk) => { errors += chunk })
      child.on('close', (code, signal) => {
        clearTimeout(timer)
        const seconds = (Date.now() - started) / 1000
        if (code === 0) return resolve({ ...JSON.parse(verdict), seconds })
        resolve({ failures: [], figures: {}, seconds, brokenBy: `the oracle ended with ${code ?? signal}: ${errors}` })
      })
    })
  }
}

/** @returns {Bug[]} */
function loadBugs () {
  return fs.readdirSync(FOLDER).filter((file) => file.endsWith('.js')).sort().map((file) => {
    const bug = require(path.join(FOLDER, file))
    return { ...bug, name: path.basename(file, '.js') }
  })
}

/**
 * Every bug's, whichever are run: a patch that no longer applies must not go unnoticed.
 * @param {Bug[]} bugs
 */
function checkPatches (bugs) {
  return bugs.flatMap(({ name, patches }) => {
    try {
      applyPatches(patches)
      return []
    } catch (err) {
      return [{ kind: 'patch does not apply', message: `${name}: ${/** @type {Error} */ (err).message}` }]
    }
  })
}

/**
 * @template T
 * @param {T[]} list
 * @param {(item: T) => Promise<void>} visit  two at a time
 */
async function inPairs (list, visit) {
  const items = list[Symbol.iterator]()
  const worker = async () => {
    for (const item of items) await visit(item)
  }
  await Promise.all([worker(), worker()])
}

/** @param {TimedVerdict} verdict */
function seconds ({ seconds }) {
  return `${seconds.toFixed(1)} s`
}

exports.checkPatches = checkPatches
exports.loadBugs = loadBugs
exports.runPlanted = runPlanted
