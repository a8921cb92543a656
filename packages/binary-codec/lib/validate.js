'use strict'
// Whether bytes are a value, without making it. Refuses exactly what decode refuses, at the same offset.

const { damaged, explainTag, requirePosition } = require('./damage')
const { duplicateKey } = require('./decode')
const { readInt, readDouble, readBoolnull, inspectExtension } = require('./scalars')
const { asTextBuffer, readKey } = require('./text')
const { readTag, tagSize } = require('./varint')
const { misuse } = require('@millrace/errors')
const { STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, TYPE_BITS, TYPE_MASK, DEPTH_MAX } = require('./types')

/** @typedef {import('./text').TextBuffer} TextBuffer */

/**
 * @param {Uint8Array} buf
 * @param {number} [start]  where the value begins
 * @param {number} [end]  what the value must not reach past
 * @returns {number}  the offset behind the value: equal to `end` when nothing follows it
 * @throws {LogError} ERR_CODEC_DECODE with `offset`, a position in `buf`
 */
function validate (buf, start = 0, end = buf.length) {
  requirePosition(buf, start)
  if (!Number.isInteger(end) || end < start || end > buf.length) {
    throw misuse(`validate: end must be a position from ${start} to ${buf.length}, got ${String(end)}`)
  }
  return checkValue(asTextBuffer(buf), start, end, 0)
}

/**
 * @param {TextBuffer} buf
 * @param {number} start
 * @param {number} parentEnd
 * @param {number} depth  how many arrays and objects are around it
 * @returns {number}  the offset behind the value
 */
function checkValue (buf, start, parentEnd, depth) {
  const tag = readTag(buf, start, parentEnd)
  const pos = start + tagSize(tag)
  const end = pos + (tag >> TYPE_BITS)
  if (tag < 0 || end > parentEnd) throw explainTag(buf, start, parentEnd)
  switch (tag & TYPE_MASK) {
    case STRING: case BUFFER: break
    case INT: readInt(buf, pos, end); break
    case DOUBLE: readDouble(buf, pos, end); break
    case BOOLNULL: readBoolnull(buf, pos, end); break
    case ARRAY: checkArray(buf, pos, end, depth + 1); break
    case OBJECT: checkObject(buf, pos, end, depth + 1); break
    default: inspectExtension(buf, pos, end)
  }
  return end
}

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @param {number} depth
 * @returns {void}
 */
function checkArray (buf, pos, end, depth) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  while (pos < end) pos = checkValue(buf, pos, end, depth)
}

/**
 * @param {TextBuffer} buf
 * @param {number} pos
 * @param {number} end
 * @param {number} depth
 * @returns {void}
 */
function checkObject (buf, pos, end, depth) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  /** @type {Set<string>} */
  const seen = new Set()
  while (pos < end) {
    const keyTag = readTag(buf, pos, end)
    const keyPos = pos + tagSize(keyTag)
    const keyEnd = keyPos + (keyTag >> TYPE_BITS)
    if (keyTag < 0 || keyEnd > end) throw explainTag(buf, pos, end)
    if ((keyTag & TYPE_MASK) !== STRING) throw damaged(pos, `a key of type ${keyTag & TYPE_MASK}; it must be a string`)
    const key = readKey(buf, keyPos, keyEnd)
    if (seen.has(key)) throw duplicateKey(key, pos)
    seen.add(key)
    pos = checkValue(buf, keyEnd, end, depth)
  }
}

exports.validate = validate
exports.checkValue = checkValue
