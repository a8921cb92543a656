'use strict'
// Looking at an encoded value from outside: its type and length, its bytes, its children one by one.

const { ARRAY, OBJECT, TYPE_BITS, TYPE_MASK, requireKeyTag, requireTag, requireTagAt, tagSize } = require('./wire-format')

/**
 * Gives the type of an encoded value.
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {number}  one of `types`
 */
function getEncodedType (buf, start = 0) {
  return requireTagAt(buf, start) & TYPE_MASK
}

/**
 * Gives the size of the payload of an encoded value.
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {number}  bytes of the payload, without the tag
 */
function getEncodedLength (buf, start = 0) {
  return requireTagAt(buf, start) >> TYPE_BITS
}

/**
 * Gives the payload of an encoded value; of an extension, the subtype and then the rest.
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {Buffer}  a view of the payload: of a string its characters, of a buffer its bytes
 */
function slice (buf, start = 0) {
  const tag = requireTagAt(buf, start)
  return buf.subarray(start + tagSize(tag), endOf(start, tag))
}

/**
 * Gives the bytes of an encoded value.
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {Buffer}  a view of the whole value, tag included: what `decode` and `markIdempotent` take
 */
function pluck (buf, start = 0) {
  const tag = requireTagAt(buf, start)
  return buf.subarray(start, endOf(start, tag))
}

/**
 * Visits each child of an encoded array or object.
 * @param {Buffer} buf
 * @param {number} start
 * @param {(buf: Buffer, valueStart: number, key: number) => unknown} fn  gets the index in an array, and the offset of
 *   the encoded key in an object. Something truthy ends the iteration
 * @returns {number}  `start`; -1 when the value is neither array nor object
 * @throws {LogError} ERR_CODEC_DECODE, at the first child that is damaged and after `fn` has had those before it
 */
function iterate (buf, start, fn) {
  const tag = requireTagAt(buf, start)
  const type = tag & TYPE_MASK
  if (type !== ARRAY && type !== OBJECT) return -1
  let pos = start + tagSize(tag)
  const end = pos + (tag >> TYPE_BITS)
  for (let index = 0; pos < end; index++) {
    const valueStart = type === OBJECT ? endOf(pos, requireKeyTag(buf, pos, end)) : pos
    const next = endOf(valueStart, requireTag(buf, valueStart, end))
    if (fn(buf, valueStart, type === OBJECT ? pos : index)) break
    pos = next
  }
  return start
}

/**
 * @param {number} start  of a value
 * @param {number} tag  of it
 * @returns {number}  where it ends
 */
function endOf (start, tag) {
  return start + tagSize(tag) + (tag >> TYPE_BITS)
}

exports.getEncodedType = getEncodedType
exports.getEncodedLength = getEncodedLength
exports.slice = slice
exports.pluck = pluck
exports.iterate = iterate
