'use strict'
// Failures as one sentence that says what to do next; and whose they are: the caller's, or the world's.

// The path is wrong, or what it leads to is nothing that the command could work on.
const MISUSE = ['ERR_INVALID_ARGUMENT', 'ERR_CODEC_MISMATCH', 'ERR_NOT_SUPPORTED', 'ENOENT', 'EISDIR', 'ENOTDIR', 'EACCES',
  'EPERM', 'EEXIST']

// Those of the file system say what the system call was; nobody wants to know.
/** @type {Record<string, string>} */
const SYSTEM = {
  ENOENT: 'there is no such file; check the path',
  EISDIR: 'this is a folder; give the path of a log\'s file',
  ENOTDIR: 'a part of this path is a file; check the path',
  EACCES: 'you may not open this; check who may read and write it',
  EPERM: 'you may not do this; check who may read and write it',
  EROFS: 'this is on a file system that cannot be written; give another path',
  EEXIST: 'something is there already; give another path, or move it away',
  ENOSPC: 'the disk is full; make room, and run the command again'
}

/** @type {Record<string, string>} */
const ADVICE = {
  ERR_LOG_CORRUPT: 'millrace verify lists the damage, millrace repair saves the rest'
}

/** @param {any} err */
function isMisuse (err) {
  return MISUSE.includes(err?.code)
}

/**
 * @param {any} err
 * @returns {string}
 */
function describeFailure (err) {
  if (!(err instanceof Error)) return String(err)
  const { code, path, message } = /** @type {any} */ (err)
  if (Object.hasOwn(SYSTEM, code) && typeof path === 'string') return `${path}: ${SYSTEM[code]}`
  return Object.hasOwn(ADVICE, code) ? `${message}; ${ADVICE[code]}` : message
}

exports.describeFailure = describeFailure
exports.isMisuse = isMisuse
