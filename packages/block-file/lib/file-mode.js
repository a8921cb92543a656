'use strict'
// The mode of files that are made, where the user asks for one: a storage that makes every file with it, whatever for.

const { misuse, reasonOf } = require('@millrace/errors')
const { withCalls } = require('./replaced-calls')

/** A log opens its own files again, to read and to write. */
const OF_OWNER = 0o600
const MODE_MAX = 0o777
const OCTAL = /^(?:0o)?[0-7]{3,4}$/

/**
 * Checks the option `mode` of a log: a number, or a text in octal.
 * @param {string} call  that got the option
 * @param {unknown} mode
 * @returns {number}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFileMode (call, mode) {
  const number = typeof mode === 'string' && OCTAL.test(mode) ? parseInt(mode.replace('0o', ''), 8) : mode
  const isMode = typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MODE_MAX
  if (isMode && (number & OF_OWNER) === OF_OWNER) return number
  throw misuse(`${call}: mode must be a file mode in octal, such as 0o640 or '640', in which the owner may read and write; ` +
    `got ${typeof mode === 'string' ? `'${mode}'` : reasonOf(mode)}`)
}

/**
 * A storage that makes files, and the records of locks, with a mode. The process's umask takes its bits away. Files
 * that exist keep theirs.
 * @param {import('./storage').Storage} storage
 * @param {number} mode
 * @returns {import('./storage').Storage}
 */
function withFileMode (storage, mode) {
  const { lock, openSync } = storage
  return withCalls(storage, {
    open: (path, options, cb) => storage.open(path, { ...options, mode }, cb),
    openSync: openSync && ((path, options) => openSync.call(storage, path, { ...options, mode })),
    lock: lock && ((path, request, cb) => lock.call(storage, path, { ...request, mode }, cb))
  })
}

exports.parseFileMode = parseFileMode
exports.withFileMode = withFileMode
