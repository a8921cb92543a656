'use strict'
// Transfers that are whole: what the kernel read or wrote only in part is continued until it is all there.

const { LogError } = require('@millrace/errors')

// The kernel and Node take at most 2 GiB a call.
const TRANSFER_SIZE_MAX = 2 ** 30

/** @typedef {import('./storage').StorageHandle} StorageHandle */

/**
 * Reads until `buf` is full or the file ends.
 * @param {StorageHandle} handle
 * @param {Buffer} buf  filled from its start; the caller's again when `cb` runs
 * @param {number} position  in the file, in bytes
 * @param {(err: Error | null, bytesRead: number) => void} cb  `bytesRead` is below `buf.length` only at the file's end
 */
function readWhole (handle, buf, position, cb) {
  let done = 0
  const next = () => {
    handle.read(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done, (err, count) => {
      if (err) return cb(err, done)
      done += /** @type {number} */ (count)
      if (count === 0 || done === buf.length) cb(null, done)
      else next()
    })
  }
  next()
}

/**
 * The same in one go, blocking.
 * @param {StorageHandle} handle
 * @param {Buffer} buf
 * @param {number} position
 * @returns {number}  bytes read
 */
function readWholeSync (handle, buf, position) {
  let done = 0
  while (done < buf.length) {
    const length = Math.min(buf.length - done, TRANSFER_SIZE_MAX)
    const count = handle.readSync(buf, done, length, position + done)
    if (count === 0) break
    done += count
  }
  return done
}

/**
 * Writes all of `buf`, or fails; after a failure any part of it may be in the file.
 * @param {StorageHandle} handle
 * @param {Buffer} buf  must not change until `cb` runs
 * @param {number} position
 * @param {(err: Error | null) => void} cb
 */
function writeWhole (handle, buf, position, cb) {
  let done = 0
  const next = () => {
    handle.write(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done, (err, count) => {
      if (err) return cb(err)
      if (count === 0) return cb(tookNothing(done, buf.length))
      done += /** @type {number} */ (count)
      if (done === buf.length) cb(null)
      else next()
    })
  }
  if (buf.length === 0) cb(null)
  else next()
}

/**
 * The same in one go, blocking.
 * @param {NonNullable<StorageHandle['writeSync']>} writeSync
 * @param {Buffer} buf
 * @param {number} position
 */
function writeWholeSync (writeSync, buf, position) {
  for (let done = 0; done < buf.length;) {
    const count = writeSync(buf, done, Math.min(buf.length - done, TRANSFER_SIZE_MAX), position + done)
    if (count === 0) throw tookNothing(done, buf.length)
    done += count
  }
}

/**
 * A disk that takes nothing and reports no error would have us ask for ever.
 * @param {number} done
 * @param {number} size
 */
function tookNothing (done, size) {
  return new LogError('EIO', `write: the disk took ${done} of ${size} bytes`)
}

exports.readWhole = readWhole
exports.readWholeSync = readWholeSync
exports.writeWhole = writeWhole
exports.writeWholeSync = writeWholeSync
