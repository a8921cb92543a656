'use strict'
// The errors of the readers, with the offending byte, and of the writer, with the path. The slow half of every check is
// here.

const { LogError, misuse } = require('@millrace/errors')
const { BAD_TAG, TYPE_BITS, TAG_SIZE_MAX, readTag, tagSize } = require('./wire-format')

const KEYS_SHOWN_MAX = 10

/**
 * @param {number} offset  of the offending byte
 * @param {string} found
 * @param {unknown} [cause]
 * @returns {LogError}
 */
function damaged (offset, found, cause) {
  return new LogError('ERR_CODEC_DECODE', `binary record: at byte ${offset}: ${found}`, { offset, cause })
}

/**
 * Called only once it is known that something is wrong: says what.
 * @param {Uint8Array} buf
 * @param {number} pos  where a tag was expected
 * @param {number} end  of the array, object or record around it
 * @returns {LogError}
 */
function explainTag (buf, pos, end) {
  if (pos >= end) return damaged(pos, 'expected a value, but what holds it ends here')
  const tag = readTag(buf, pos, end)
  if (tag !== BAD_TAG) {
    const left = end - pos - tagSize(tag)
    return damaged(pos, `a length of ${tag >> TYPE_BITS} bytes, but only ${left} are left in what holds it`)
  }
  const stop = Math.min(end, pos + TAG_SIZE_MAX)
  let last = pos
  while (last < stop && buf[last] >= 0x80) last++
  if (last === end) return damaged(pos, 'a length that is cut off by the end of what holds it')
  if (last < stop && buf[last] === 0) return damaged(pos, 'a length written with more bytes than it needs')
  return damaged(pos, 'a length above 2^28 - 1')
}

/**
 * The tag at a position that a caller passed, with its whole payload inside the buffer.
 * @param {Uint8Array} buf
 * @param {number} start
 * @returns {number}
 * @throws {TypeError} ERR_INVALID_ARGUMENT, when there is no such position
 * @throws {LogError} ERR_CODEC_DECODE
 */
function requireTag (buf, start) {
  requirePosition(buf, start)
  const tag = readTag(buf, start, buf.length)
  if (tag === BAD_TAG || start + tagSize(tag) + (tag >> TYPE_BITS) > buf.length) {
    throw explainTag(buf, start, buf.length)
  }
  return tag
}

/**
 * @param {unknown} buf
 * @param {number} start
 * @returns {void}
 */
function requirePosition (buf, start) {
  if (!(buf instanceof Uint8Array)) throw misuse(`expected a Buffer, got ${typeof buf}`)
  if (!Number.isInteger(start) || start < 0 || start > buf.length) {
    const hint = start === -1 ? ', which is what the seek functions give for "not found"' : ''
    throw misuse(`start must be a position in the buffer, 0 to ${buf.length}, got ${String(start)}${hint}`)
  }
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} end
 * @returns {Uint8Array}  a view
 */
function sliceRange (buf, start, end) {
  if (!(buf instanceof Uint8Array)) throw misuse(`expected a Buffer, got ${typeof buf}`)
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end || end > buf.length) {
    throw misuse(`expected a range inside a buffer of ${buf.length} bytes, got ${String(start)} to ${String(end)}`)
  }
  return buf.subarray(start, end)
}

/**
 * @param {Array<string | number>} path
 * @param {string} found
 * @param {unknown} [cause]
 * @returns {LogError}
 */
function refused (path, found, cause) {
  const shown = path.length > KEYS_SHOWN_MAX ? [...path.slice(0, KEYS_SHOWN_MAX), '...'] : path
  return new LogError('ERR_CODEC_ENCODE', `encode: at /${shown.join('/')}: ${found}`, { path, cause })
}

/**
 * @param {object} value
 * @returns {string}  such as `[object Map]`
 */
function nameOf (value) {
  return Object.prototype.toString.call(value)
}

exports.damaged = damaged
exports.explainTag = explainTag
exports.requireTag = requireTag
exports.requirePosition = requirePosition
exports.sliceRange = sliceRange
exports.refused = refused
exports.nameOf = nameOf
