'use strict'
// What Linux tells of one thread in /proc.

const fs = require('node:fs')

// PF_EXITING of the kernel's flags: it makes no more calls, though it may yet have to run for a while to be gone. Who
// waits for a thread is told before that.
const IS_EXITING = 4

/**
 * @typedef {object} Task
 * @property {string} started  in ticks since the boot, as seen from the reader's time namespace
 * @property {boolean} hasEnded  it does nothing more, though it may still have its number: its parent has not yet asked
 *   how it ended, or it is on its way out
 */

/**
 * @param {number} pid
 * @param {number} thread
 */
function statPath (pid, thread) {
  return `/proc/${pid}/task/${thread}/stat`
}

/**
 * @param {number} pid
 * @param {number} thread
 * @returns {Task | null}
 */
function readTaskSync (pid, thread) {
  try {
    return parseTask(fs.readFileSync(statPath(pid, thread), 'latin1'))
  } catch {
    return null
  }
}

/**
 * @param {number} pid
 * @param {number} thread
 * @param {(err: Error | null, task?: Task | null) => void} cb  null if there is none, or none that can be seen
 */
function readTask (pid, thread, cb) {
  fs.readFile(statPath(pid, thread), 'latin1', (err, text) => {
    if (!err) return cb(null, parseTask(text))
    if (isGone(err)) cb(null, null)
    else cb(err)
  })
}

/**
 * @param {number} pid
 * @param {(err: Error | null, threads?: number[]) => void} cb  none if there is no such process
 */
function listThreads (pid, cb) {
  fs.readdir(`/proc/${pid}/task`, (err, names) => {
    if (!err) return cb(null, names.map(Number))
    if (isGone(err)) cb(null, [])
    else cb(err)
  })
}

/**
 * A thread that ends while it is looked at gives the second of these.
 * @param {NodeJS.ErrnoException} err
 */
function isGone ({ code = '' }) {
  return ['ENOENT', 'ESRCH'].includes(code)
}

/**
 * proc(5): pid, the name in parentheses, the state, ...; the 9th are flags, the 22nd is the start. A name may have
 * spaces and parentheses.
 * @param {string} text
 * @returns {Task}
 */
function parseTask (text) {
  const [state, ...others] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const hasEnded = ['Z', 'X', 'x'].includes(state) || (Number(others[5]) & IS_EXITING) !== 0
  return { started: others[18] ?? '', hasEnded }
}

exports.listThreads = listThreads
exports.parseTask = parseTask
exports.readTask = readTask
exports.readTaskSync = readTaskSync
