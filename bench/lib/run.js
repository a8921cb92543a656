'use strict'
// Runs measurements, each in a process of its own so that no cache, heap or compiled code passes from one to the next,
// and insists that those that did the same work give the same answer.

const { spawn } = require('node:child_process')
const path = require('node:path')

const CHILD = path.join(__dirname, 'child.js')
// Far above the slowest case: it only ends a child that hangs.
const TIMEOUT_MS = 10 * 60 * 1000
// Node may hang as it ends, once in some thousand times (nodejs/node#54918). What it printed by then is good.
const EXIT_MS = 10 * 1000
const ERROR_LINES = 12
const BAR_WIDTH = 30
const REDRAW_MS = 100

/** A child that gave no answer: the message says how it ended, and gives its own last words. */
class ChildError extends Error {}

/** A measurement that failed: the message names it, and then gives the child's own words. */
class MeasureError extends Error {}

/** The message says who differs, and in what. */
class DisagreementError extends Error {}

/**
 * @param {string} script
 * @param {object} order  given to it as JSON, in its first argument
 * @param {{ env?: Record<string, string>, exitMs?: number }} [options]  `env` beside the environment of this process;
 *   `exitMs` how long it may take to end once it has printed a line
 * @returns {Promise<any>}  the JSON that it prints
 * @throws {ChildError}
 */
async function runChild (script, order, { env, exitMs = EXIT_MS } = {}) {
  const args = [script, JSON.stringify(order)]
  const { code, signal, stdout, stderr, isOverdue } = await run(args, { ...process.env, ...env }, exitMs)
  if (code === 0 || isOverdue) {
    try {
      return JSON.parse(stdout)
    } catch {}
  }
  const fate = signal ? `was ended by ${signal}` : code === 0 ? 'ended without an answer' : `exited with ${code}`
  const words = stderr.trim().split('\n').slice(-ERROR_LINES).map((line) => `  ${line}`)
  throw new ChildError(`the child ${fate}\n${words.join('\n')}`)
}

/**
 * @typedef {object} Ending
 * @property {number | null} code
 * @property {string | null} signal
 * @property {string} stdout
 * @property {string} stderr
 * @property {boolean} isOverdue  it had printed its line, and was ended because it did not end
 */

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {number} exitMs
 * @returns {Promise<Ending>}
 */
function run (args, env, exitMs) {
  return new Promise((resolve, reject) => {
    const ends = { timeout: TIMEOUT_MS, killSignal: /** @type {const} */ ('SIGKILL') }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'], ...ends })
    // A bench that is interrupted leaves no child behind.
    const kill = () => child.kill()
    process.once('exit', kill)
    let [stdout, stderr, isOverdue] = ['', '', false]
    /** @type {NodeJS.Timeout | undefined} */
    let overdue
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
      if (stdout.endsWith('\n')) overdue ??= setTimeout(() => { isOverdue = child.kill('SIGKILL') }, exitMs)
    })
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      process.off('exit', kill)
      clearTimeout(overdue)
      resolve({ code, signal, stdout, stderr, isOverdue })
    })
  })
}

/**
 * @param {{ module: string, task: string, [name: string]: any }} order  calls this export of the module, in a child,
 *   with all of the order
 * @param {Record<string, string>} [env]
 * @returns {Promise<any>}
 * @throws {ChildError}
 */
function runTask (order, env) {
  return runChild(CHILD, order, { env })
}

/**
 * Rounds are outermost in the turns of every command: what slows the machine for a while slows all that are compared.
 * @template Turn
 * @param {string} title
 * @param {Turn[]} turns
 * @param {(turn: Turn) => string} describe
 * @param {(turn: Turn) => Promise<unknown>} take  names itself in a ChildError's stead
 */
async function takeTurns (title, turns, describe, take) {
  const progress = createProgress(title, turns.length)
  for (const [index, turn] of turns.entries()) {
    progress.update(index, describe(turn))
    try {
      await take(turn)
    } catch (err) {
      throw err instanceof ChildError ? new MeasureError(`${describe(turn)}: ${err.message}`) : err
    }
  }
  progress.end()
}

/**
 * A time means nothing when the work was not done.
 * @typedef {Record<string, number | string>} Answer
 * @returns {(group: string, by: string, answer: Answer) => void}  throws when two of a group differ in a figure that
 *   both of them have
 */
function createAgreement () {
  /** @type {Map<string, { by: string, value: number | string }>} */
  const firsts = new Map()
  return (group, by, answer) => {
    for (const [name, value] of Object.entries(answer)) {
      const first = firsts.get(`${group} ${name}`)
      if (first === undefined) firsts.set(`${group} ${name}`, { by, value })
      else if (first.value !== value) {
        throw new DisagreementError(`${group}: ${name} is ${value} by ${by}, and ${first.value} by ${first.by}`)
      }
    }
  }
}

/**
 * @template T
 * @param {T[]} list
 * @param {number} by
 * @returns {T[]}  another one first
 */
function rotate (list, by) {
  const start = by % list.length || 0
  return [...list.slice(start), ...list.slice(0, start)]
}

/**
 * Says how far a long job is: a bar on a terminal, two lines anywhere else.
 * @typedef {{ update: (done: number, note?: string) => void, end: () => void }} Progress
 * @param {string} title
 * @param {number} total
 * @param {{ isTTY?: boolean, write: (text: string) => unknown }} [stream]
 * @returns {Progress}
 */
function createProgress (title, total, stream = process.stderr) {
  const started = Date.now()
  const seconds = () => `${((Date.now() - started) / 1000).toFixed(1)} s`
  let drawn = 0
  if (!stream.isTTY) stream.write(`${title} ...\n`)
  return {
    update (done, note = '') {
      if (!stream.isTTY || Date.now() - drawn < REDRAW_MS) return
      drawn = Date.now()
      const bar = '#'.repeat(Math.round(BAR_WIDTH * Math.min(1, done / total))).padEnd(BAR_WIDTH, '.')
      stream.write(`\r\x1b[K${title} [${bar}] ${Math.floor(100 * done / total)}% ${note}`)
    },
    end () {
      stream.write(stream.isTTY ? `\r\x1b[K${title}: ${seconds()}\n` : `${title}: done in ${seconds()}\n`)
    }
  }
}

exports.ChildError = ChildError
exports.MeasureError = MeasureError
exports.DisagreementError = DisagreementError
exports.runChild = runChild
exports.runTask = runTask
exports.takeTurns = takeTurns
exports.createAgreement = createAgreement
exports.rotate = rotate
exports.createProgress = createProgress
