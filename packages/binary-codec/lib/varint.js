'use strict'
// Tags: one varint that holds a payload's length and type. Little-endian groups of 7 bits, the high bit set on all but
// the last byte, never longer than needed: so a tag's size follows from its value, and no reader keeps state.

const { TAG_SIZE_MAX, TAG_LAST_BYTE_MAX } = require('./types')

/** What `readTag` returns for bytes that are no tag. Its low bits are those of no type that has children. */
const BAD_TAG = -1

/**
 * @param {Uint8Array} buf
 * @param {number} pos  where the tag begins
 * @param {number} end  no byte at or behind it is read
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

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}
 */
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
 * @returns {number}  the position behind it
 */
function writeTag (buf, pos, tag) {
  while (tag >= 0x80) {
    buf[pos++] = (tag & 0x7f) | 0x80
    tag >>>= 7
  }
  buf[pos] = tag
  return pos + 1
}

exports.BAD_TAG = BAD_TAG
exports.readTag = readTag
exports.tagSize = tagSize
exports.writeTag = writeTag
