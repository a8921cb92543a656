'use strict'
// Reads a range of the file itself, past the cache: now if that will not make others wait, else through the pool.

const { LogError } = require('@millrace/errors')
const { readWhole, readWholeSync } = require('./whole-io')

// A larger read would hold up the event loop even when the page cache has it all.
const SYNC_SIZE_MAX = 1024 * 1024

/** @typedef {import('./open-file').OpenFile} OpenFile */

/**
 * @param {OpenFile} file
 * @param {Buffer} target  filled whole
 * @param {number} position
 * @param {(err: Error | null) => void} cb  may run before `fetch` returns
 */
function fetch (file, target, position, cb) {
  const end = position + target.length
  if (file.handle === null) return cb(closedError('read', file.path))
  const { handle, lock, pace } = file
  if (target.length <= SYNC_SIZE_MAX && lock.isFree(position, end) && pace.mayBlock()) {
    let count
    try {
      count = pace.time(() => readWholeSync(handle, target, position))
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    return cb(checkLength(file, target, position, count))
  }
  pace.noteAsync()
  lock.read(position, end, (release) => {
    readWhole(handle, target, position, (err, count) => {
      release()
      cb(err ?? checkLength(file, target, position, count))
    })
  })
}

/**
 * The same where nobody has to wait, and nothing is made. What fails, or comes in part, is left to `fetch`.
 * @param {OpenFile} file
 * @param {Buffer} target
 * @param {number} offset  in the target
 * @param {number} size  in bytes; the file must have so many
 * @param {number} position
 * @returns {boolean}  whether they are in the target
 */
function fetchNow (file, target, offset, size, position) {
  const { handle, lock, pace } = file
  if (size > SYNC_SIZE_MAX || handle === null || !pace.mayBlock()) return false
  if (!lock.isFree(position, position + size)) return false
  const started = pace.begin()
  try {
    if (handle.readSync(target, offset, size, position) !== size) return false
  } catch {
    return false
  }
  pace.end(started)
  return true
}

/**
 * @param {OpenFile} file
 * @param {Buffer} target
 * @param {number} position
 * @param {number} count
 */
function checkLength (file, target, position, count) {
  if (count === target.length) return null
  const end = position + count
  return new LogError('ERR_FILE_SHORT_READ', `read: ${file.path} ends at ${end} but was ${file.size.value} bytes; ` +
    'something else has cut it off: close it and look', { offset: end, path: file.path })
}

/**
 * @param {string} what
 * @param {string} path
 */
function closedError (what, path) {
  return new LogError('ERR_FILE_CLOSED', `${what}: ${path} is closed; open it again first`, { path })
}

exports.fetch = fetch
exports.fetchNow = fetchNow
exports.closedError = closedError
