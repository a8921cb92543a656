'use strict'
// Damages a file as disks, crashes and careless programs do.

const fs = require('node:fs')
const { createRandom } = require('./tools')

/** @type {(path: string, change: (bytes: Buffer) => void) => void} */
function edit (path, change) {
  const bytes = fs.readFileSync(path)
  change(bytes)
  fs.writeFileSync(path, bytes)
}

/**
 * Flips one bit.
 * @param {string} path
 * @param {number} offset  of the byte
 * @param {number} [bit]  0, the lowest, to 7
 */
function flip (path, offset, bit = 0) {
  edit(path, (bytes) => { bytes[offset] ^= 1 << bit })
}

/**
 * Cuts a file off.
 * @param {string} path
 * @param {number} size  in bytes
 */
function truncate (path, size) {
  fs.truncateSync(path, size)
}

/**
 * Fills a range with zeros, even past the end, as a file system may after a crash.
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
 * Replaces a range by more or fewer bytes; the rest of the file moves.
 * @param {string} path
 * @param {number} start
 * @param {number} end
 * @param {Uint8Array} bytes
 */
function splice (path, start, end, bytes) {
  const before = fs.readFileSync(path)
  fs.writeFileSync(path, Buffer.concat([before.subarray(0, start), bytes, before.subarray(end)]))
}

/**
 * Changes each byte of a range to a random other one.
 * @param {string} path
 * @param {number} start
 * @param {number} end
 * @param {number} [seed]  the same seed gives the same bytes
 */
function garble (path, start, end, seed = 1) {
  const random = createRandom(seed)
  edit(path, (bytes) => {
    for (let offset = start; offset < Math.min(end, bytes.length); offset++) bytes[offset] ^= 1 + random(255)
  })
}

/**
 * Exchanges two sectors, blocks or pages.
 * @param {string} path
 * @param {number} first  where one begins
 * @param {number} second  where the other begins
 * @param {number} size  of each, in bytes
 */
function swap (path, first, second, size) {
  edit(path, (bytes) => {
    const kept = Buffer.from(bytes.subarray(first, first + size))
    bytes.copy(bytes, first, second, second + size)
    kept.copy(bytes, second)
  })
}

/**
 * Copies a range to another place, as a disk does that writes to the wrong sector.
 * @param {string} path
 * @param {number} from
 * @param {number} to
 * @param {number} size  in bytes
 */
function misdirect (path, from, to, size) {
  edit(path, (bytes) => bytes.copy(bytes, to, from, from + size))
}

/** What may be in the place of a log, so that it cannot be opened. @type {Record<string, (path: string) => void>} */
const replacements = {
  'no bytes': (path) => truncate(path, 0),
  'no head': (path) => zero(path, 0, 32 * 1024),
  'a text': (path) => fs.writeFileSync(path, 'this is no log\n'.repeat(100)),
  'a folder': (path) => {
    fs.rmSync(path)
    fs.mkdirSync(path)
  },
  gone: (path) => fs.rmSync(path)
}

exports.replacements = replacements
exports.flip = flip
exports.truncate = truncate
exports.zero = zero
exports.splice = splice
exports.garble = garble
exports.swap = swap
exports.misdirect = misdirect
