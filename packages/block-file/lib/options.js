'use strict'
// The options of a block file, checked, with their defaults.

const { misuse } = require('@millrace/errors')
const { fileStorage } = require('./storage')

// bench-flumelog-offset found 64 KiB a good default; our figures agree (see the README).
const BLOCK_SIZE = 64 * 1024
const CACHE_SIZE = 16 * 1024 * 1024
const CACHE_SIZE_MAX = 2 ** 31

/**
 * @typedef {object} BlockFileOptions
 * @property {number} [blockSize]  bytes: the unit of caching; 64 KiB by default
 * @property {'r' | 'r+'} [flags]  `r+`, the default, reads and writes and creates the file; `r` never changes anything
 * @property {number} [cache]  bytes that the cache may hold; 16 MiB by default, 0 for none
 * @property {boolean} [createFolder]  create the folder of the file too; false by default
 * @property {(() => Buffer) | null} [initial]  makes the bytes of a file that is missing or empty; it exists with all
 *   of them, on stable storage, or not at all
 * @property {boolean} [lock]  false by default; true keeps others from opening the file for writing while it is open,
 *   if they lock it too. With `r` nothing is locked
 * @property {number} [lockTimeout]  ms to wait for a lock that somebody else has; 0, the default, fails at once
 * @property {import('./storage').Storage} [storage]  the file system by default
 */

/**
 * @param {string} path
 * @param {BlockFileOptions} [options]
 * @returns {Required<BlockFileOptions>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (path, options = {}) {
  if (options === null || typeof options !== 'object') throw misuse(`BlockFile: expected options, got ${String(options)}`)
  const {
    blockSize = BLOCK_SIZE, flags = 'r+', cache = CACHE_SIZE, createFolder = false, initial = null,
    lock = false, lockTimeout = 0, storage = fileStorage
  } = options
  if (typeof path !== 'string' || path === '') throw misuse(`BlockFile: expected a path, got ${String(path)}`)
  if (!Number.isSafeInteger(blockSize) || blockSize < 1) {
    throw misuse(`BlockFile: blockSize must be a whole number of bytes, got ${String(blockSize)}`)
  }
  if (flags !== 'r' && flags !== 'r+') throw misuse(`BlockFile: flags must be "r" or "r+", got ${String(flags)}`)
  if (!Number.isSafeInteger(cache) || cache < 0 || cache > CACHE_SIZE_MAX) {
    throw misuse(`BlockFile: cache must be from 0 to ${CACHE_SIZE_MAX} bytes, got ${String(cache)}`)
  }
  if (initial !== null && typeof initial !== 'function') throw misuse('BlockFile: initial must be a function')
  if (typeof lock !== 'boolean') throw misuse(`BlockFile: lock must be true or false, got ${String(lock)}`)
  if (typeof lockTimeout !== 'number' || !(lockTimeout >= 0)) {
    throw misuse(`BlockFile: lockTimeout must be 0 or more milliseconds, got ${String(lockTimeout)}`)
  }
  if (typeof storage?.open !== 'function') throw misuse('BlockFile: storage must have the function open')
  return { blockSize, flags, cache, createFolder, initial, lock, lockTimeout, storage }
}

exports.parseOptions = parseOptions
