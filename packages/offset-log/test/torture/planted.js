'use strict'
// Plants known bugs into copies of the shipping source, one at a time, and lets the oracles look for them: a harness
// that finds nothing in the log must find something in each of these.
// Usage: node planted.js [seed] [part of a bug's name ...]

const { spawn } = require('node:child_process')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')
const { applyPatches, copySource } = require('./copy-source')

const FOLDER = path.join(__dirname, 'planted')
const RUN_ORACLE = path.join(__dirname, 'oracles', 'run-oracle.js')
const SEED = 1
const SECONDS_MAX = 20
// What an oracle may take beyond its time, to start and to finish what it is doing.
const GRACE_SECONDS = 60

/**
 * @typedef {object} Bug
 * @property {string} name
 * @property {string} why  what goes wrong with it
 * @property {import('./copy-source').Patch[]} patches
 * @property {string} [oracle]  a module in oracles; torture by default
 * @property {Record<string, unknown>} [options]  of the oracle
 * @property {string[]} [kinds]  the failures that count as catching it; any by default
 */

/**
 * @typedef {import('./oracles/run-oracle').Verdict & { seconds: number, brokenBy?: string }} TimedVerdict
 */

/**
 * @param {object} [options]
 * @param {number} [options.seed]  of the oracles, with and without a bug
 * @param {string | string[]} [options.only]  parts of names: bugs with none of them are left out
 * @param {number} [options.seconds]  how long each bug may take to be caught
 * @param {(line: string) => void} [options.print]
 * @returns {Promise<{ failures: Array<{ kind: string, message: string }>, figures: Record<string, number> }>}
 */
async function runPlanted ({ seed = SEED, only = [], seconds = SECONDS_MAX, print = console.log } = {}) {
  const bugs = loadBugs()
  const failures = checkPatches(bugs)
  const parts = [only].flat()
  const chosen = bugs.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)))
  if (chosen.length === 0) failures.push({ kind: 'nothing to do', message: `no bug's name has any of: ${parts.join(', ')}` })
  const figures = { bugs: chosen.length, caught: 0 }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'millrace-planted-'))
  const fail = (kind, message) => failures.push({ kind, message })
  try {
    if (failures.length === 0) {
      const runner = new Runner({ folder, seed, seconds, print, fail, figures })
      await inPairs(runner.unpatchedRuns(chosen), (run) => runner.checkUnpatched(run))
      if (failures.length === 0) await inPairs(chosen, (bug) => runner.checkBug(bug))
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  for (const { kind, message } of failures) print(`FAILED  ${kind}: ${message}`)
  print(`planted: ${figures.caught} of ${figures.bugs} bugs caught; seed ${seed}`)
  return { failures, figures }
}

class Runner {
  /**
   * @param {object} options
   * @param {string} options.folder
   * @param {number} options.seed
   * @param {number} options.seconds
   * @param {(line: string) => void} options.print
   * @param {(kind: string, message: string) => void} options.fail
   * @param {{ bugs: number, caught: number }} options.figures
   */
  constructor ({ folder, seed, seconds, print, fail, figures }) {
    this._folder = folder
    this._seed = seed
    this._seconds = seconds
    this._print = print
    this._fail = fail
    this._figures = figures
    this._unpatched = copySource(path.join(folder, 'unpatched'), [])
  }

  /**
   * @param {Bug[]} bugs
   * @returns {Bug[]}  one of those that are looked for in the same way
   */
  unpatchedRuns (bugs) {
    const runs = new Map(bugs.map((bug) => [JSON.stringify([bug.oracle, bug.options]), bug]))
    return [...runs.values()]
  }

  /** @param {Bug} bug  whose oracle must find nothing in the source as it ships */
  async checkUnpatched (bug) {
    const verdict = await this._examine(this._unpatched, bug)
    const line = `${bug.oracle ?? 'torture'}${bug.options ? ` ${JSON.stringify(bug.options)}` : ''}, ${seconds(verdict)}`
    const message = verdict.brokenBy ?? verdict.failures[0]?.message
    if (message === undefined) this._print(`unpatched   passes ${line} ${JSON.stringify(verdict.figures)}`)
    else this._fail('unpatched', `${line}: ${message}`)
  }

  /** @param {Bug} bug */
  async checkBug (bug) {
    const logModule = copySource(path.join(this._folder, bug.name), bug.patches)
    const verdict = await this._examine(logModule, bug)
    const { failures, brokenBy } = verdict
    const caught = failures.find(({ kind }) => !bug.kinds || bug.kinds.includes(kind))
    if (caught) {
      this._figures.caught++
      this._print(`caught      ${bug.name}: ${caught.kind}${countOf(verdict)}, ${seconds(verdict)}`)
      return
    }
    const found = brokenBy ?? (failures[0] ? `found instead: ${failures[0].kind}: ${failures[0].message}` : 'nothing found')
    this._print(`NOT CAUGHT  ${bug.name}${countOf(verdict)}, ${seconds(verdict)}`)
    this._fail('not caught', `${bug.name} (${bug.why}): ${found}`)
  }

  /**
   * @param {string} logModule
   * @param {Bug} bug
   * @returns {Promise<TimedVerdict>}
   */
  _examine (logModule, { oracle = 'torture', options = {} }) {
    const input = { oracle, logModule, seed: this._seed, seconds: this._seconds, ...options }
    const started = Date.now()
    return new Promise((resolve) => {
      const child = spawn(process.execPath, [RUN_ORACLE, JSON.stringify(input)], { stdio: ['ignore', 'ignore', 'pipe', 'pipe'] })
      const timer = setTimeout(() => child.kill('SIGKILL'), (input.seconds + GRACE_SECONDS) * 1000)
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
      return [{ kind: 'patch does not apply', message: `${name}: ${err.message}` }]
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
function countOf ({ figures }) {
  return figures.images === undefined ? '' : ` after ${figures.images} images`
}

/** @param {TimedVerdict} verdict */
function seconds ({ seconds }) {
  return `${seconds.toFixed(1)} s`
}

if (require.main === module) {
  const [seed, ...only] = process.argv.slice(2)
  runPlanted({ only, ...seed === undefined ? {} : { seed: Number(seed) } }).then(({ failures }) => {
    process.exitCode = failures.length > 0 ? 1 : 0
  })
}

exports.runPlanted = runPlanted
