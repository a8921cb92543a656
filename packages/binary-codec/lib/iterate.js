'use strict'
// Looking at an encoded value from outside: its type and length, its bytes, its children one by one.

const { damaged, explainTag, requireTag } = require('./errors')
const { STRING, ARRAY, OBJECT, TYPE_BITS, TYPE_MASK, readTag, tagSize } = require('./wire-format')

/**
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {number}  one of `types`
 */
function getEncodedType (buf, start = 0) {
  return requireTag(buf, start) & TYPE_MASK
}

/**
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {number}  bytes of the payload, without the tag
 */
function getEncodedLength (buf, start = 0) {
  return requireTag(buf, start) >> TYPE_BITS
}

/**
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {Buffer}  a view of the payload: of a string its characters, of a buffer its bytes
 */
function slice (buf, start = 0) {
  const tag = requireTag(buf, start)
  const pos = start + tagSize(tag)
  return buf.subarray(pos, pos + (tag >> TYPE_BITS))
}

/**
 * @param {Buffer} buf
 * @param {number} [start]
 * @returns {Buffer}  a view of the whole value, tag included: what `decode` and `markIdempotent` take
 */
function pluck (buf, start = 0) {
  const tag = requireTag(buf, start)
  return buf.subarray(start, start + tagSize(tag) + (tag >> TYPE_BITS))
}

/**
 * @param {Buffer} buf
 * @param {number} start
 * @param {(buf: Buffer, valueStart: number, key: number) => unknown} fn  gets the index in an array, and the offset of
 *   the encoded key in an object. Something truthy ends the iteration
 * @returns {number}  `start`; -1 when the value is neither array nor object
 * @throws {LogError} ERR_CODEC_DECODE, at the first child that is damaged and after `fn` has had those before it
 */
function iterate (buf, start, fn) {
  const tag = requireTag(buf, start)
  const type = tag & TYPE_MASK
  if (type !== ARRAY && type !== OBJECT) return -1
  let pos = start + tagSize(tag)
  const end = pos + (tag >> TYPE_BITS)
  for (let index = 0; pos < end; index++) {
    const valueStart = type === OBJECT ? skipKey(buf, pos, end) : pos
    const next = skipValue(buf, valueStart, end)
    if (fn(buf, valueStart, type === OBJECT ? pos : index)) break
    pos = next
  }
  return start
}

/**
 * @param {Buffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}
 */
function skipKey (buf, pos, end) {
  const tag = readTag(buf, pos, end)
  if (tag >= 0 && (tag & TYPE_MASK) !== STRING) throw damaged(pos, `a key of type ${tag & TYPE_MASK}; it must be a string`)
  return skipValue(buf, pos, end)
}

/**
 * @param {Buffer} buf
 * @param {number} pos
 * @param {number} end
 * @returns {number}  behind the value
 */
function skipValue (buf, pos, end) {
  const tag = readTag(buf, pos, end)
  const next = pos + tagSize(tag) + (tag >> TYPE_BITS)
  if (tag < 0 || next > end) throw explainTag(buf, pos, end)
  return next
}

exports.getEncodedType = getEncodedType
exports.getEncodedLength = getEncodedLength
exports.slice = slice
exports.pluck = pluck
exports.iterate = iterate
