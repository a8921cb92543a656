'use strict'
// What a scan over threads was asked for, checked.

const path = require('node:path')
const { fileURLToPath } = require('node:url')
const { fileStorage } = require('@millrace/block-file')
const { LogError, misuse } = require('@millrace/errors')

const THREAD_COUNT_MAX = 256

/**
 * @typedef {object} ThreadOptions
 * @property {number} threads  how many worker threads to spread the scan over
 * @property {unknown} [parameters]  what the task is made with: anything that can be cloned
 * @typedef {{ threads: number, task: string, parameters: unknown }} Spread  over so many threads, by the module's path
 */

/**
 * @param {Partial<ThreadOptions>} options
 * @param {unknown} task
 * @param {import('../range').Range} range
 * @returns {Spread}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSpread ({ threads, parameters }, task, range) {
  if (!Number.isInteger(threads) || Number(threads) < 1 || Number(threads) > THREAD_COUNT_MAX) {
    throw misuse(`scan: threads must be a whole number from 1 to ${THREAD_COUNT_MAX}, got ${String(threads)}`)
  }
  if (range.reverse) throw misuse('scan: threads take the parts of a range in no order; leave out reverse, or threads')
  // A range in which nothing can be has the limit 0 too.
  if (range.limit !== Infinity && range.from < range.stop) {
    throw misuse('scan: which records a limit leaves is known only in order; leave out limit, or threads')
  }
  return { threads: Number(threads), task: parseTask(task), parameters }
}

/** @param {unknown} task */
function parseTask (task) {
  const expected = 'scan: a function cannot go to other threads; with threads, give the absolute path, or the file: URL, ' +
    'of a module that exports one,'
  if (typeof task !== 'string' && !(task instanceof URL)) throw misuse(`${expected} not ${typeof task}`)
  let file = String(task)
  try {
    if (task instanceof URL || file.startsWith('file:')) file = fileURLToPath(file)
  } catch (err) {
    throw misuse(`${expected} not ${file}: ${/** @type {Error} */ (err).message}`)
  }
  if (!path.isAbsolute(file)) throw misuse(`${expected} not ${JSON.stringify(file)}; require.resolve makes one of a name`)
  return file
}

/**
 * @param {import('../log-file').LogFile} file
 * @returns {LogError | null}  why it cannot be read by other threads
 */
function findObstacle ({ storage }) {
  if (!storage || storage === fileStorage) return null
  return new LogError('ERR_NOT_SUPPORTED', 'scan: other threads can open files, but not the storage that this log was ' +
    'given; leave out threads')
}

exports.parseSpread = parseSpread
exports.findObstacle = findObstacle
