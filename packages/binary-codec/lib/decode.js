'use strict'
// From bytes to a value, and the check whether they are one. Every child is checked against its parent before it is
// read, so damage is found, not followed.

const { LogError, misuse, reasonOf } = require('@millrace/errors')
const { firstNode, nextNode, addNode } = require('./key-tree')
const { readInt, readDouble, readBoolnull, readExtension, inspectExtension } = require('./scalars')
const {
  asTextBuffer, beginValue, commonKey, endValue, readKey, readString, readViewedFloat64
} = require('./text')
const {
  STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, TYPE_BITS, TYPE_MASK, DEPTH_MAX, damaged, readTag,
  requireKeyTag, requirePosition, requireTag, tagSize
} = require('./wire-format')

/** @typedef {import('./text').TextBuffer} TextBuffer */

/**
 * Reads the payload of an array or object, from `pos` to `end`, inside `depth` - 1 others. Buffers in the result are
 * views, or copies.
 * @template T
 * @typedef {(buf: TextBuffer, pos: number, end: number, depth: number, copyBuffers: boolean) => T} ReadItems
 */

/** @typedef {(buf: TextBuffer, pos: number, end: number, depth: number) => void} CheckItems  without making it */

/**
 * Decodes the value that begins at a place. A decoded string may keep the whole text of its value alive, up to 4 KiB:
 * to keep a single one for a long time, copy it.
 * @param {Uint8Array} buf  Buffers in the result are views of its memory
 * @param {number} [start]  where the value begins; what follows the value is not looked at
 * @returns {any}
 * @throws {LogError} ERR_CODEC_DECODE with `offset`, a position in `buf`
 */
function decode (buf, start = 0) {
  return readRoot(buf, start, false, false)
}

/**
 * @param {Uint8Array} buf  one value and nothing else
 * @param {boolean} copyBuffers  whether Buffers in the result are copies; otherwise they are views of `buf`
 * @returns {any}
 * @throws {LogError} ERR_CODEC_DECODE with `offset`, a position in `buf`
 */
function decodeWhole (buf, copyBuffers) {
  return readRoot(buf, 0, copyBuffers, true)
}

/**
 * @param {Uint8Array} bytes
 * @param {number} start
 * @param {boolean} copyBuffers
 * @param {boolean} isWhole  whether the value must end where the bytes do
 * @returns {any}
 */
function readRoot (bytes, start, copyBuffers, isWhole) {
  requirePosition(bytes, start)
  const buf = asTextBuffer(bytes)
  try {
    const tag = requireTag(buf, start, buf.length)
    const pos = start + tagSize(tag)
    const end = pos + (tag >> TYPE_BITS)
    if (isWhole && end !== buf.length) throw damaged(end, `${buf.length - end} bytes after the end of the value`)
    beginValue(buf, start, end)
    return readValue(buf, tag & TYPE_MASK, pos, end, 0, copyBuffers)
  } catch (err) {
    if (err instanceof LogError) throw err
    // A failure of the engine itself, such as a string above its size limit.
    throw damaged(0, `a value that this process cannot hold: ${/** @type {Error} */ (err).message}`, err)
  } finally {
    endValue()
  }
}

/**
 * @param {TextBuffer} buf
 * @param {number} type
 * @param {number} pos  where the payload begins
 * @param {number} end  where it ends, inside its parent
 * @param {number} depth  how many arrays and objects are around it
 * @param {boolean} copyBuffers
 * @returns {any}
 */
function readValue (buf, type, pos, end, depth, copyBuffers) {
  switch (type) {
    case STRING: return readString(buf, pos, end)
    case INT: return readInt(buf, pos, end)
    case OBJECT: return readObject(buf, pos, end, depth + 1, copyBuffers)
    case ARRAY: return readArray(buf, pos, end, depth + 1, copyBuffers)
    case DOUBLE: return end - pos === 8 ? readViewedFloat64(pos) : readDouble(buf, pos, end)
    case BOOLNULL: return readBoolnull(buf, pos, end)
    case BUFFER: return copyBuffers ? Buffer.from(buf.subarray(pos, end)) : buf.subarray(pos, end)
    default: return readExtension(buf, pos, end)
  }
}

/** @type {ReadItems<any[]>} */
function readArray (buf, pos, end, depth, copyBuffers) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  const array = []
  while (pos < end) {
    const tag = requireTag(buf, pos, end)
    const valuePos = pos + tagSize(tag)
    const valueEnd = valuePos + (tag >> TYPE_BITS)
    array.push(readValue(buf, tag & TYPE_MASK, valuePos, valueEnd, depth, copyBuffers))
    pos = valueEnd
  }
  return array
}

/**
 * A key may come once. Whether it came before is asked of the object only where the tree does not know. The hot loop of
 * decoding: tags are checked in place, and again by what throws.
 * @type {ReadItems<object>}
 */
// eslint-disable-next-line complexity -- the hot loop of decoding
function readObject (buf, pos, end, depth, copyBuffers) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  /** @type {Record<string, any>} */
  const object = {}
  /** @type {ReturnType<typeof nextNode>} */
  let node = firstNode()
  while (pos < end) {
    const keyTag = readTag(buf, pos, end)
    const keyPos = pos + tagSize(keyTag)
    const keyEnd = keyPos + (keyTag >> TYPE_BITS)
    if (keyTag < 0 || keyEnd > end || (keyTag & TYPE_MASK) !== STRING) requireKeyTag(buf, pos, end)

    const before = node
    if (before !== null) node = nextNode(before, buf, keyPos, keyTag)
    let key = node === null ? commonKey(buf, keyPos, keyEnd) : node.key
    const isCommon = key !== ''
    if (node === null) {
      if (!isCommon) key = readString(buf, keyPos, keyEnd)
      if (Object.hasOwn(object, key)) throw duplicateKey(key, pos)
      if (isCommon && before !== null) node = addNode(before, key, buf, keyPos, keyEnd, keyTag)
    }

    const tag = readTag(buf, keyEnd, end)
    const valuePos = keyEnd + tagSize(tag)
    const valueEnd = valuePos + (tag >> TYPE_BITS)
    if (tag < 0 || valueEnd > end) requireTag(buf, keyEnd, end)
    const value = readValue(buf, tag & TYPE_MASK, valuePos, valueEnd, depth, copyBuffers)
    if (isCommon) object[key] = value
    // Such as `__proto__`, which an assignment would take for the prototype.
    else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
    pos = valueEnd
  }
  return object
}

/** @param {string} key @param {number} offset */
function duplicateKey (key, offset) {
  return damaged(offset, `the key ${JSON.stringify(key.slice(0, 80))} for the second time in one object`)
}

/**
 * Whether bytes are a value, without making it. Refuses exactly what decode refuses, at the same offset.
 * @param {Uint8Array} buf
 * @param {number} [start]  where the value begins
 * @param {number} [end]  what the value must not reach past
 * @returns {number}  the offset after the value: equal to `end` when nothing follows it
 * @throws {LogError} ERR_CODEC_DECODE with `offset`, a position in `buf`
 */
function validate (buf, start = 0, end = buf.length) {
  requirePosition(buf, start)
  if (!Number.isInteger(end) || end < start || end > buf.length) {
    throw misuse(`validate: end must be a position from ${start} to ${buf.length}, got ${reasonOf(end)}`)
  }
  return checkValue(asTextBuffer(buf), start, end, 0)
}

/**
 * @param {TextBuffer} buf
 * @param {number} start
 * @param {number} parentEnd
 * @param {number} depth  how many arrays and objects are around it
 * @returns {number}  the offset after the value
 */
function checkValue (buf, start, parentEnd, depth) {
  const tag = requireTag(buf, start, parentEnd)
  const pos = start + tagSize(tag)
  const end = pos + (tag >> TYPE_BITS)
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

/** @type {CheckItems} */
function checkArray (buf, pos, end, depth) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  while (pos < end) pos = checkValue(buf, pos, end, depth)
}

/** @type {CheckItems} */
function checkObject (buf, pos, end, depth) {
  if (depth > DEPTH_MAX) throw damaged(pos, `nested deeper than ${DEPTH_MAX} levels`)
  /** @type {Set<string>} */
  const seen = new Set()
  while (pos < end) {
    const keyTag = requireKeyTag(buf, pos, end)
    const keyPos = pos + tagSize(keyTag)
    const keyEnd = keyPos + (keyTag >> TYPE_BITS)
    const key = readKey(buf, keyPos, keyEnd)
    if (seen.has(key)) throw duplicateKey(key, pos)
    seen.add(key)
    pos = checkValue(buf, keyEnd, end, depth)
  }
}

exports.decode = decode
exports.decodeWhole = decodeWhole
exports.validate = validate
exports.checkValue = checkValue
