'use strict'
// Finding one field without decoding the rest: tags are stepped over, and only keys of the right length are compared.
// Damage is never followed: what would reach past its parent ends the search as "not found".

const { misuse } = require('@millrace/errors')
const { decode } = require('./decode')
const { readTag, tagSize } = require('./varint')
const { STRING, ARRAY, OBJECT, TYPE_BITS, TYPE_MASK } = require('./types')

/**
 * One step inwards: the key's tag and bytes, or an index.
 * @typedef {{ tag: number, bytes: Uint8Array, index: number }} Step
 */

/** Steps made from strings, so that `seekKey(buf, 0, 'key')` need not encode the key each time. */
const STEPS_KEPT_MAX = 1000
const KEPT_LENGTH_MAX = 64
/** @type {Map<string, Step>} */
const keptSteps = new Map()

/**
 * @param {Uint8Array} buf
 * @param {number} start  of an encoded value; -1, for a value not found, gives -1
 * @param {string | Uint8Array} key
 * @returns {number}  the offset of the key's value; -1 when there is none. Of a key that comes twice, which decode
 *   refuses, the first is found
 */
function seekKey (buf, start, key) {
  return findKey(buf, start, buf.length, stepForKey(key))
}

/**
 * @param {Uint8Array} buf
 * @param {number} start  of an encoded value
 * @param {ReadonlyArray<string | Uint8Array | number> | Uint8Array} path  keys and array indexes from the value
 *   inwards, as an array or as an encoded array
 * @param {number} [pathStart]  where in an encoded path the array begins
 * @returns {number}  -1 when there is nothing at the path
 */
function seekPath (buf, start, path, pathStart = 0) {
  return findSteps(buf, start, buf.length, toSteps(path instanceof Uint8Array ? decode(path, pathStart) : path))
}

/**
 * @param {ReadonlyArray<string | Uint8Array | number> | Uint8Array} path  as in `seekPath`
 * @returns {(buf: Uint8Array, start?: number) => number}  `seekPath` for this path, with its keys encoded beforehand
 */
function createSeekPath (path) {
  const steps = toSteps(path instanceof Uint8Array ? decode(path) : path)
  return (buf, start = 0) => findSteps(buf, start, buf.length, steps)
}

/**
 * @param {unknown} path
 * @returns {Step[]}
 */
function toSteps (path) {
  if (!Array.isArray(path)) throw misuse(`expected a path as an array of keys and indexes, got ${typeof path}`)
  return path.map(toStep)
}

/**
 * @param {unknown} part
 * @returns {Step}
 */
function toStep (part) {
  if (typeof part !== 'number') return makeKeyStep(/** @type {string} */ (part))
  if (!Number.isInteger(part) || part < 0) throw misuse(`an index in a path must be a whole number, got ${part}`)
  return { tag: -1, bytes: Buffer.alloc(0), index: part }
}

/**
 * @param {string | Uint8Array} key
 * @returns {Step}
 */
function stepForKey (key) {
  if (typeof key !== 'string' || key.length > KEPT_LENGTH_MAX) return makeKeyStep(key)
  let step = keptSteps.get(key)
  if (step === undefined) {
    if (keptSteps.size === STEPS_KEPT_MAX) keptSteps.clear()
    step = makeKeyStep(key)
    keptSteps.set(key, step)
  }
  return step
}

/**
 * @param {string | Uint8Array} key
 * @returns {Step}
 */
function makeKeyStep (key) {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) {
    throw misuse(`a key must be a string or a Buffer, got ${typeof key}`)
  }
  const bytes = Buffer.from(/** @type {string} */ (key)) // a copy, of a Buffer too: later changes must not matter
  return { tag: bytes.length << TYPE_BITS | STRING, bytes, index: -1 }
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} limit  no byte at or behind it is read
 * @param {Step[]} steps
 * @returns {number}
 */
function findSteps (buf, start, limit, steps) {
  if (steps.length === 0) return fits(buf, start, limit) ? start : -1
  let pos = start
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]
    pos = step.index < 0 ? findKey(buf, pos, limit, step) : findIndex(buf, pos, limit, step.index)
    if (pos < 0) return -1
  }
  return pos
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} limit
 * @returns {boolean}  whether a whole value, as far as its tag tells, begins here
 */
function fits (buf, start, limit) {
  if (!(start >= 0)) return false
  const tag = readTag(buf, start, limit)
  return tag >= 0 && start + tagSize(tag) + (tag >> TYPE_BITS) <= limit
}

/**
 * A key that is not found may be missing, or there may be damage in its place.
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} limit
 * @returns {boolean}  whether a whole value begins here, and what it has for keys and values, if it is an object, are
 *   whole too, as far as their tags tell
 */
function isWhole (buf, start, limit) {
  if (!fits(buf, start, limit)) return false
  const header = readTag(buf, start, limit)
  if ((header & TYPE_MASK) !== OBJECT) return true
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  while (pos < end) {
    const keyTag = readTag(buf, pos, end)
    if ((keyTag & TYPE_MASK) !== STRING) return false
    const valueStart = pos + tagSize(keyTag) + (keyTag >> TYPE_BITS)
    if (!fits(buf, valueStart, end)) return false
    const tag = readTag(buf, valueStart, end)
    pos = valueStart + tagSize(tag) + (tag >> TYPE_BITS)
  }
  return true
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} limit
 * @param {Step} step
 * @returns {number}
 */
function findKey (buf, start, limit, step) {
  if (!(start >= 0)) return -1
  const header = readTag(buf, start, limit)
  if ((header & TYPE_MASK) !== OBJECT) return -1
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return -1
  while (pos < end) {
    const keyTag = readTag(buf, pos, end)
    if ((keyTag & TYPE_MASK) !== STRING) return -1 // a bad tag too
    pos += tagSize(keyTag)
    const valueStart = pos + (keyTag >> TYPE_BITS)
    const tag = readTag(buf, valueStart, end)
    const next = valueStart + tagSize(tag) + (tag >> TYPE_BITS)
    if (tag < 0 || next > end) return -1
    if (keyTag === step.tag && equalBytes(buf, pos, step.bytes)) return valueStart
    pos = next
  }
  return -1
}

/**
 * @param {Uint8Array} buf
 * @param {number} start
 * @param {number} limit
 * @param {number} index
 * @returns {number}
 */
function findIndex (buf, start, limit, index) {
  if (!(start >= 0)) return -1
  const header = readTag(buf, start, limit)
  if ((header & TYPE_MASK) !== ARRAY) return -1
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return -1
  for (let left = index; pos < end; left--) {
    const tag = readTag(buf, pos, end)
    const next = pos + tagSize(tag) + (tag >> TYPE_BITS)
    if (tag < 0 || next > end) return -1
    if (left === 0) return pos
    pos = next
  }
  return -1
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {Uint8Array} bytes
 * @returns {boolean}
 */
function equalBytes (buf, pos, bytes) {
  for (let i = 0; i < bytes.length; i++) if (buf[pos + i] !== bytes[i]) return false
  return true
}

exports.seekKey = seekKey
exports.seekPath = seekPath
exports.createSeekPath = createSeekPath
exports.toSteps = toSteps
exports.fits = fits
exports.isWhole = isWhole
exports.findKey = findKey
exports.equalBytes = equalBytes
