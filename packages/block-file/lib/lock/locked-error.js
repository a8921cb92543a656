'use strict'
// Says who has a file open for writing, and what to do.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} path  of the file
 * @param {import('./acquire').Obstacle} obstacle
 * @param {import('./this-thread').Identity} self
 * @returns {LogError}
 */
function lockedError (path, { lockPath, record, isForeign, cause }, self) {
  if (record === null && cause === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} is open for writing: the kernel holds a lock on it, and no record ` +
      'beside it says for whom. It may have been opened by another path: a bind mount, a hard link, an earlier name. ' +
      'Close it there, or open it with flags "r"', { path })
  }
  if (record === null) {
    return new LogError('ERR_LOG_LOCKED', `open: ${path} may be open for writing: there is ${lockPath}, which does not say by ` +
      `whom (${cause?.message}); if nothing has the file open, remove that`, { cause, path })
  }
  const { host, pid, thread, since } = record
  const who = `open: ${path} is open for writing, by ${describeThread(record, self)} on ${host}, since ${since}`
  const advice = isForeign
    ? `that is another machine, or another container, of which nothing can be seen from here: close it there, or if \
it is surely gone, remove ${lockPath}`
    : 'close it there, or open it with flags "r"'
  return new LogError('ERR_LOG_LOCKED', `${who}; ${advice}`, { path, holder: { host, pid, thread, since } })
}

/**
 * @param {import('./record').LockRecord} record
 * @param {import('./this-thread').Identity} self
 */
function describeThread ({ pid, thread, boot, pidNamespace }, self) {
  const isOurs = pid === self.pid && boot === self.boot && pidNamespace === self.pidNamespace
  const process = isOurs ? `this process (${pid})` : `process ${pid}`
  return thread === null || thread === pid ? process : `thread ${thread} of ${process}`
}

exports.lockedError = lockedError
