'use strict'
// Runs a script in a process of its own and brings back the JSON that it prints, or says what became of it.

const { spawn } = require('node:child_process')

// Far above the slowest case: it only ends a child that hangs.
const TIMEOUT_MS = 10 * 60 * 1000
// Node may hang as it ends, once in some thousand times (nodejs/node#54918). What it printed by then is good.
const EXIT_MS = 10 * 1000
const ERROR_LINES = 12

/** A child that gave no answer: the message says its fate, and gives its own last words. */
class ChildError extends Error {}

/**
 * @param {string} script
 * @param {object} order  given to it as JSON, in its first argument
 * @param {{ env?: Record<string, string>, exitMs?: number }} [options]  `env` beside the environment of this process;
 *   `exitMs` how long it may take to end once it has printed a line
 * @returns {Promise<any>}
 * @throws {ChildError}
 */
async function runChild (script, order, { env = {}, exitMs = EXIT_MS } = {}) {
  const options = { env: { ...process.env, ...env }, exitMs }
  const { code, signal, stdout, stderr, isOverdue } = await run([script, JSON.stringify(order)], options)
  if (code === 0 || isOverdue) {
    try {
      return JSON.parse(stdout)
    } catch {}
  }
  const fate = signal ? `was ended by ${signal}` : code === 0 ? 'ended without an answer' : `exited with ${code}`
  throw new ChildError(`the child ${fate}\n${lastLines(stderr)}`)
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
 * @param {{ env: NodeJS.ProcessEnv, exitMs: number }} options
 * @returns {Promise<Ending>}
 */
function run (args, { env, exitMs }) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      env, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL'
    })
    // A bench that is interrupted leaves no child behind.
    const kill = () => child.kill()
    process.once('exit', kill)
    let [stdout, stderr] = ['', '']
    let isOverdue = false
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

/** @param {string} text */
function lastLines (text) {
  const lines = text.trim().split('\n').slice(-ERROR_LINES)
  return lines.map((line) => `  ${line}`).join('\n')
}

exports.ChildError = ChildError
exports.runChild = runChild
