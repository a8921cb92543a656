'use strict'
// Hurts a file the way disks, crashes and careless programs do.

const fs = require('node:fs')

/**
 * Flips one bit.
 * @param {string} path
 * @param {number} offset  of the byte
 * @param {number} [bit]  from 0, the lowest, to 7
 */
function flip (path, offset, bit = 0) {
  const bytes = fs.readFileSync(path)
  bytes[offset] ^= 1 << bit
  fs.writeFileSync(path, bytes)
}

/**
 * Cuts the file off.
 * @param {string} path
 * @param {number} size  in bytes
 */
function truncate (path, size) {
  fs.truncateSync(path, size)
}

/**
 * Fills a range with zeros, past the end too, as a file system may after a crash.
 * @param {string} path
 * @param {number} start
 * @param {number} end
 */
function zero (path, start, end) {
  const fd = fs.openSync(path, 'r+')
  fs.writeSync(fd, Buffer.alloc(end - start), 0, end - start, start)
  fs.closeSync(fd)
}

/**
 * Replaces a range by other bytes, more or fewer: the rest of the file moves.
 * @param {string} path
 * @param {number} start
 * @param {number} end
 * @param {Uint8Array} bytes
 */
function splice (path, start, end, bytes) {
  const before = fs.readFileSync(path)
  fs.writeFileSync(path, Buffer.concat([before.subarray(0, start), bytes, before.subarray(end)]))
}

exports.flip = flip
exports.truncate = truncate
exports.zero = zero
exports.splice = splice
