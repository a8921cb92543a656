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
// The first line of an error in what a process prints as it dies.
const ERROR = /^\w*Error(?: \[\w+\])?: (.*)$/m
const BAR_WIDTH = 30
const REDRAW_MS = 100
const PROFILE_OPTION = '--cpu-prof-dir'
const SERVER_FOLDER = 'server'

/** A failure that the user can mend, such as a wrong option: one line on stderr and exit code 2, no stack trace. */
class UserError extends Error {}

/** A measurement that failed: the message names it, and then gives the child's own words. */
class MeasureError extends Error {}

/** The message says who differs, and in what. */
class DisagreementError extends MeasureError {}

/** A child that gave no answer: the message says how it ended, and gives its own last words. */
class ChildError extends Error {
  /**
   * @param {string} fate
   * @param {string} stderr
   */
  constructor (fate, stderr) {
    const words = stderr.trim().split('\n').slice(-ERROR_LINES).map((line) => `  ${line}`)
    super(`the child ${fate}\n${words.join('\n')}`)
    /** One line. */
    this.reason = ERROR.exec(stderr)?.[1] ?? fate
  }
}

/**
 * @typedef {object} ChildOptions
 * @property {Record<string, string>} [env]  beside the environment of this process
 * @property {string[]} [nodeArguments]  for Node.js itself
 * @property {number} [exitMs]  how long it may take to end once it has printed a line
 * @property {number} [timeoutMs]  how long it may take until then
 */

/**
 * @param {string} script
 * @param {object} order  given to it as JSON, in its first argument
 * @param {ChildOptions} [options]
 * @returns {Promise<any>}  the JSON that it prints
 * @throws {ChildError}
 */
function runChild (script, order, { env, nodeArguments = [], exitMs = EXIT_MS, timeoutMs = TIMEOUT_MS } = {}) {
  return new Promise((resolve, reject) => {
    const args = [...nodeArguments, script, JSON.stringify(order)]
    const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    // A bench that is interrupted leaves no child behind.
    const kill = () => child.kill()
    process.once('exit', kill)
    let [stdout, stderr, isOver] = ['', '', false]
    const endAfter = (/** @type {number} */ ms) => setTimeout(() => { isOver = child.kill('SIGKILL') }, ms)
    let timer = endAfter(timeoutMs)
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
      if (!stdout.endsWith('\n')) return
      clearTimeout(timer)
      timer = endAfter(exitMs)
    })
    child.stderr.setEncoding('utf8').on('data', (text) => { stderr += text })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      process.off('exit', kill)
      clearTimeout(timer)
      const isLate = isOver && !stdout.endsWith('\n')
      try {
        if (code === 0 || isOver) return resolve(JSON.parse(stdout))
      } catch {}
      const end = signal ? `was ended by ${signal}` : code === 0 ? 'ended without an answer' : `exited with ${code}`
      reject(new ChildError(isLate ? `did not come to its end within ${timeoutMs / 1000} s` : end, stderr))
    })
  })
}

/**
 * The arguments of Node.js for a server that a measuring process starts: where that writes a profile, the server's is
 * in a folder of its own, so that what it does is not shown together with the work of who asks.
 * @param {string[]} [args]  those of this process
 */
function toServerArguments (args = process.execArgv) {
  return args.map((one) => one.startsWith(`${PROFILE_OPTION}=`) ? `${one}/${SERVER_FOLDER}` : one)
}

/** What a user can name: stacks, layers, rows, peers, jobs. @typedef {{ name: string, order?: number }} Part */

/** Where each part was loaded from. @type {WeakMap<Part, string>} */
const homes = new WeakMap()

/**
 * @param {string} file  of a module that has a list of them in `parts`, or is one
 * @returns {any[]}  in the order of the file
 */
function loadParts (file) {
  const loaded = require(file)
  const parts = loaded.parts ?? [loaded]
  for (const part of parts) homes.set(part, file)
  return parts
}

/**
 * @param {{ module: string, task: string, [name: string]: any }} order  calls this export of the module, in a child,
 *   with the rest of the order
 * @param {Record<string, Part>} parts  added to the order: the child loads them from where they are
 * @param {ChildOptions} [options]
 * @returns {Promise<any>}
 * @throws {ChildError}
 */
function runTask (order, parts, options) {
  const places = Object.entries(parts).map(([role, part]) => [role, { file: homes.get(part), name: part.name }])
  return runChild(CHILD, { ...order, parts: Object.fromEntries(places) }, options)
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
 * @param {{ isTTY?: boolean, columns?: number, write: (text: string) => unknown }} [stream]
 * @returns {Progress}
 */
function createProgress (title, total, stream = process.stderr) {
  const started = Date.now()
  let drawn = 0
  if (!stream.isTTY) stream.write(`${title} ...\n`)
  return {
    update (done, note = '') {
      if (!stream.isTTY || Date.now() - drawn < REDRAW_MS) return
      drawn = Date.now()
      const { columns = Infinity } = stream
      const share = Math.min(1, done / total)
      // A narrow terminal has no room for the bar, and a line that is wrapped could not be drawn again.
      const width = columns < 100 ? 0 : BAR_WIDTH
      const bar = width > 0 ? `[${'#'.repeat(Math.round(width * share)).padEnd(width, '.')}] ` : ''
      const left = share > 0 ? `, ${formatLeft((Date.now() - started) * (1 - share) / share)} left` : ''
      stream.write(`\r\x1b[K${`${title} ${bar}${Math.floor(100 * share)}%${left}${note && `: ${note}`}`.slice(0, columns - 1)}`)
    },
    end () {
      const seconds = `${((Date.now() - started) / 1000).toFixed(1)} s`
      stream.write(stream.isTTY ? `\r\x1b[K${title}: ${seconds}\n` : `${title}: done in ${seconds}\n`)
    }
  }
}

/** @param {number} ms */
function formatLeft (ms) {
  return ms < 90_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} minutes`
}

exports.UserError = UserError
exports.MeasureError = MeasureError
exports.DisagreementError = DisagreementError
exports.ChildError = ChildError
exports.runChild = runChild
exports.toServerArguments = toServerArguments
exports.PROFILE_OPTION = PROFILE_OPTION
exports.SERVER_FOLDER = SERVER_FOLDER
exports.loadParts = loadParts
exports.runTask = runTask
exports.takeTurns = takeTurns
exports.createAgreement = createAgreement
exports.rotate = rotate
exports.createProgress = createProgress
