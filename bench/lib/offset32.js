'use strict'
// The little that the harness itself has to know of the 32-bit framing: <length> data <length> <end of the record>.
// It looks with its own eyes, so that neither stack decides what the other is given.

const fs = require('node:fs')
const { UserError } = require('./command')

const LENGTH_SIZE = 4
const FRAME_OVERHEAD = 12

/**
 * @param {string} file
 * @returns {{ size: number, mtimeMs: number }}
 * @throws {UserError}  one line that says what the file is, when it is not such a log
 */
function inspectLog (file) {
  let fd
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (stat === undefined) throw new Error(`there is no file ${file}`)
    if (stat.isDirectory()) throw new Error(`${file} is a directory`)
    if (stat.size === 0) throw new Error(`${file} is empty`)
    fd = fs.openSync(file, 'r')
    if (!beginsWithFrame(fd, stat.size)) throw new Error(`${file} is not a log with 32-bit offsets`)
    if (!beginsWithJson(fd)) throw new Error(`${file} is a log, but not of JSON`)
    if (!endsWithFrame(fd, stat.size)) throw new Error(`${file} does not end with a whole record`)
    return { size: stat.size, mtimeMs: stat.mtimeMs }
  } catch (err) {
    throw new UserError(`--file: ${/** @type {Error} */ (err).message}`)
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/**
 * @param {number} fd
 * @param {number} size
 */
function beginsWithFrame (fd, size) {
  if (size < FRAME_OVERHEAD) return false
  const length = readUInt32(fd, 0)
  const end = length + FRAME_OVERHEAD
  return end <= size && readUInt32(fd, end - 2 * LENGTH_SIZE) === length && readUInt32(fd, end - LENGTH_SIZE) === end
}

/** @param {number} fd */
function beginsWithJson (fd) {
  const buf = Buffer.alloc(readUInt32(fd, 0))
  fs.readSync(fd, buf, 0, buf.length, LENGTH_SIZE)
  // All zeros: a record that was deleted, and could have been anything.
  if (buf.every((byte) => byte === 0)) return true
  try {
    JSON.parse(buf.toString())
    return true
  } catch {
    return false
  }
}

/**
 * @param {number} fd
 * @param {number} size
 */
function endsWithFrame (fd, size) {
  const length = readUInt32(fd, size - 2 * LENGTH_SIZE)
  const start = size - length - FRAME_OVERHEAD
  return readUInt32(fd, size - LENGTH_SIZE) === size && start >= 0 && readUInt32(fd, start) === length
}

/**
 * @param {number} fd
 * @param {number} position
 */
function readUInt32 (fd, position) {
  const buf = Buffer.alloc(LENGTH_SIZE)
  fs.readSync(fd, buf, 0, LENGTH_SIZE, position)
  return buf.readUInt32BE(0)
}

/**
 * @param {Buffer} buf  the beginning of a log
 * @returns {number}  where the last record ends that is in it whole
 */
function findLastEnd (buf) {
  let end = 0
  while (end + LENGTH_SIZE <= buf.length) {
    const next = end + buf.readUInt32BE(end) + FRAME_OVERHEAD
    if (next > buf.length) break
    end = next
  }
  return end
}

exports.inspectLog = inspectLog
exports.findLastEnd = findLastEnd
