'use strict'
// The numbers that the writer and every reader share, and tags; and what to say where there is none.
// docs/internals/binary-format.md describes the format.
//
// A tag is one varint that holds a payload's length and type. Little-endian groups of 7 bits, the high bit set on all
// but the last byte, never longer than needed: so a tag's size follows from its value, and no reader keeps state.

const { isUint8Array } = require('node:util').types
const { LogError, misuse, reasonOf } = require('@millrace/errors')

const STRING = 0
const BUFFER = 1
const INT = 2
const DOUBLE = 3
const ARRAY = 4
const OBJECT = 5
const BOOLNULL = 6
/** Reserved in bipf 1.x, which refuses to decode it: what JSON-like types cannot say lives here, under a subtype. */
const EXTENSION = 7

/** A tag is the payload's length shifted by this much, with the type in the low bits. */
const TYPE_BITS = 3
const TYPE_MASK = 7

/**
 * bipf computes a length as a signed 32-bit `tag >> 3`, so no payload that it can read back has 2^28 bytes or more.
 * The same bound keeps every tag here inside an int32.
 */
const PAYLOAD_SIZE_MAX = 2 ** 28 - 1

/** The bytes of the longest tag, and the largest value that a byte in its last place may have: 2^31 - 1 in all. */
const TAG_SIZE_MAX = 5
const TAG_LAST_BYTE_MAX = 7

/** Arrays and objects inside one another, counting the outermost. Keeps recursion far from the end of the stack. */
const DEPTH_MAX = 1000

/** The first payload byte of an extension. */
const DATE = 1
const BIGINT = 2
/** From here on there is one for each kind of typed array and the like: `scalars.js` lists them. */
const FIRST_BINARY = 3

/** Bytes of a BigInt's magnitude. Engines differ in the largest one they hold; all of them hold this one. */
const BIGINT_SIZE_MAX = 2 ** 20

/** What `getEncodedType` and `getValueType` return, by name. `reserved` is bipf's name for the extension type. */
const types = Object.freeze({
  string: 0,
  buffer: 1,
  int: 2,
  double: 3,
  array: 4,
  object: 5,
  boolnull: 6,
  extension: 7,
  reserved: 7
})

/** What `readTag` returns for bytes that are no tag. Its low bits are those of no type that has children. */
const BAD_TAG = -1

/**
 * @param {Uint8Array} buf
 * @param {number} pos  where the tag begins
 * @param {number} end  no byte at or after it is read
 * @returns {number}  the tag; BAD_TAG when it is cut off by `end`, not minimal, or above 2^31 - 1
 */
function readTag (buf, pos, end) {
  if (pos >= end) return BAD_TAG
  const byte = buf[pos]
  if (byte < 0x80) return byte
  const second = pos + 1 < end ? buf[pos + 1] : 0
  // Not 0, which adds nothing and would not be minimal; from 0x80 on more bytes follow.
  return second > 0 && second < 0x80 ? byte & 0x7f | second << 7 : readLongTag(buf, pos, end)
}

/** @type {(buf: Uint8Array, pos: number, end: number) => number} */
function readLongTag (buf, pos, end) {
  const stop = Math.min(end, pos + TAG_SIZE_MAX)
  let tag = buf[pos] & 0x7f
  let shift = 7
  for (let next = pos + 1; next < stop; next++) {
    const byte = buf[next]
    if (shift === 28 && byte > TAG_LAST_BYTE_MAX) return BAD_TAG
    tag |= (byte & 0x7f) << shift
    if (byte < 0x80) return byte === 0 ? BAD_TAG : tag // a zero last byte adds nothing: not minimal
    shift += 7
  }
  return BAD_TAG
}

/**
 * @param {number} tag  not BAD_TAG
 * @returns {number}  how many bytes it takes
 */
function tagSize (tag) {
  if (tag < 0x80) return 1
  if (tag < 0x4000) return 2
  if (tag < 0x200000) return 3
  return tag < 0x10000000 ? 4 : 5
}

/**
 * @param {Uint8Array} buf  with room for the tag
 * @param {number} pos
 * @param {number} tag
 * @returns {number}  the position after it
 */
function writeTag (buf, pos, tag) {
  while (tag >= 0x80) {
    buf[pos++] = (tag & 0x7f) | 0x80
    tag >>>= 7
  }
  buf[pos] = tag
  return pos + 1
}

// The slow half of every check.

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
 * @param {Uint8Array} buf
 * @param {number} pos  where a value should begin
 * @param {number} end  of what holds it
 * @returns {number}  its tag; all of its payload is there
 * @throws {LogError} ERR_CODEC_DECODE
 */
function requireTag (buf, pos, end) {
  const tag = readTag(buf, pos, end)
  if (tag < 0 || pos + tagSize(tag) + (tag >> TYPE_BITS) > end) throw explainTag(buf, pos, end)
  return tag
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}  the tag of a key
 * @throws {LogError} ERR_CODEC_DECODE
 */
function requireKeyTag (buf, pos, end) {
  const tag = requireTag(buf, pos, end)
  if ((tag & TYPE_MASK) !== STRING) throw damaged(pos, `a key of type ${tag & TYPE_MASK}; it must be a string`)
  return tag
}

/**
 * @param {Uint8Array} buf
 * @param {number} start  that a caller passed
 * @returns {number}  the tag there; all of its payload is in the buffer
 * @throws {TypeError} ERR_INVALID_ARGUMENT, when there is no such position
 * @throws {LogError} ERR_CODEC_DECODE
 */
function requireTagAt (buf, start) {
  requirePosition(buf, start)
  return requireTag(buf, start, buf.length)
}

/** @type {(buf: unknown, start: number) => void} */
function requirePosition (buf, start) {
  // The first question is quicker, and leaves out bytes of another realm only.
  if (!(buf instanceof Uint8Array || isUint8Array(buf))) throw misuse(`expected a Buffer, got ${typeof buf}`)
  if (!Number.isInteger(start) || start < 0 || start > buf.length) {
    const hint = start === -1 ? ', which is what the seek functions give for "not found"' : ''
    throw misuse(`start must be a position in the buffer, 0 to ${buf.length}, got ${reasonOf(start)}${hint}`)
  }
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} end
 * @returns {Uint8Array}  a view
 */
function sliceRange (buf, start, end) {
  if (!(buf instanceof Uint8Array || isUint8Array(buf))) throw misuse(`expected a Buffer, got ${typeof buf}`)
  if (!Number.isInteger(start) || !Number.isInteger(end) || start < 0 || start > end || end > buf.length) {
    throw misuse(`expected a range inside a buffer of ${buf.length} bytes, got ${reasonOf(start)} to ${reasonOf(end)}`)
  }
  return buf.subarray(start, end)
}

exports.STRING = STRING
exports.BUFFER = BUFFER
exports.INT = INT
exports.DOUBLE = DOUBLE
exports.ARRAY = ARRAY
exports.OBJECT = OBJECT
exports.BOOLNULL = BOOLNULL
exports.EXTENSION = EXTENSION
exports.TYPE_BITS = TYPE_BITS
exports.TYPE_MASK = TYPE_MASK
exports.PAYLOAD_SIZE_MAX = PAYLOAD_SIZE_MAX
exports.TAG_SIZE_MAX = TAG_SIZE_MAX
exports.DEPTH_MAX = DEPTH_MAX
exports.DATE = DATE
exports.BIGINT = BIGINT
exports.FIRST_BINARY = FIRST_BINARY
exports.BIGINT_SIZE_MAX = BIGINT_SIZE_MAX
exports.types = types
exports.readTag = readTag
exports.tagSize = tagSize
exports.writeTag = writeTag
exports.damaged = damaged
exports.requireTag = requireTag
exports.requireKeyTag = requireKeyTag
exports.requireTagAt = requireTagAt
exports.requirePosition = requirePosition
exports.sliceRange = sliceRange
