'use strict'
// What a lock file says: one line of JSON, described in docs/format.md.

// A record of a lock that can never come again: each has a nonce of its own. Claims are named by them.
const NONCE = /^[0-9a-f]{16}$/
// Stands for that of a record that the power took with it.
const NONCE_OF_BLANK = '0'.repeat(16)

/**
 * @typedef {object} FileIdentity
 * @property {string} path  with no symlink in it
 * @property {string | null} device  null, like the inode, while the file is not there or may be replaced
 * @property {string | null} inode
 */

/**
 * What is missing was not known to the version that has written it.
 * @typedef {import('./this-thread').Identity & {
 *   file: FileIdentity, nonce: string, since: string, lock?: 'kernel' | 'file', localFileSystem?: string | null,
 *   socket?: string | null, isIntact?: boolean, mount?: string | null
 * }} LockRecord  `since` is when it was taken, for people to read. `lock` says what locks the file: the kernel, or this
 *   record. `localFileSystem` and `mount` are from file-system.js, `socket` from life-sign.js. `isIntact` says that all
 *   is in the file, or in the page cache of the running kernel, that its holder has shown to anybody
 */

/**
 * @param {LockRecord} record
 * @returns {string}
 */
function encodeRecord (record) {
  return `${JSON.stringify(record)}\n`
}

/**
 * @param {string} text
 * @returns {LockRecord | null}  null if it is none
 */
function parseRecord (text) {
  let record
  try {
    record = JSON.parse(text)
  } catch {
    return null
  }
  return isRecord(record) ? record : null
}

/**
 * Bytes that were not yet on the disk when the power went are missing, or are zeros.
 * @param {string} text
 */
function isBlank (text) {
  return /^\0*$/.test(text)
}

/** @param {any} record */
function isRecord (record) {
  if (record === null || typeof record !== 'object' || record.file === null || typeof record.file !== 'object') return false
  const { host, machine, boot, pidNamespace, timeNamespace, pid, thread, started, file, nonce, since } = record
  const { lock = 'file', localFileSystem = null, socket = null, mount = null } = record
  return [host, file.path, nonce, since].every((value) => typeof value === 'string') &&
    [machine, boot, pidNamespace, timeNamespace, started, file.device, file.inode].every(isStringOrNull) &&
    [localFileSystem, socket, mount].every(isStringOrNull) && ['kernel', 'file'].includes(lock) && isTaskNumber(pid) && (thread === null || isTaskNumber(thread)) && NONCE.test(nonce) && nonce !== NONCE_OF_BLANK
}

/** @param {unknown} value */
function isStringOrNull (value) {
  return value === null || typeof value === 'string'
}

/**
 * Zero and negative numbers would mean whole groups of processes.
 * @param {unknown} value
 */
function isTaskNumber (value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) > 0
}

exports.NONCE_OF_BLANK = NONCE_OF_BLANK
exports.encodeRecord = encodeRecord
exports.isBlank = isBlank
exports.parseRecord = parseRecord
