'use strict'
// Finding one field without decoding the rest: tags are stepped over, and only keys of the right length are compared.
// Damage is never followed: what would reach past its parent ends the search as "not found".

const { isUint8Array } = require('node:util').types
const { misuse } = require('@millrace/errors')
const { decode } = require('./decode')
const { STRING, ARRAY, OBJECT, TYPE_BITS, TYPE_MASK, readTag, tagSize } = require('./wire-format')

/**
 * One step inwards: the key's tag and bytes, or an index.
 * @typedef {{ tag: number, bytes: Uint8Array, index: number }} Step
 */

/**
 * Looks from `start` on, and at no byte at or after `limit`. Gives the offset of the value; -1 when there is none.
 * @template Wanted
 * @typedef {(buf: Uint8Array, start: number, limit: number, wanted: Wanted) => number} Find
 */

/** Steps made from strings, so that `seekKey(buf, 0, 'key')` need not encode the key each time. */
const STEPS_KEPT_MAX = 1000
const KEPT_LENGTH_MAX = 64
/** @type {Map<string, Step>} */
const keptSteps = new Map()

/**
 * Finds the value of a key in an encoded object.
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
 * Finds the value at a path in an encoded value.
 * @param {Uint8Array} buf
 * @param {number} start  of an encoded value
 * @param {ReadonlyArray<string | Uint8Array | number> | Uint8Array} path  keys and array indexes from the value
 *   inwards, as an array or as an encoded array
 * @param {number} [pathStart]  where in an encoded path the array begins
 * @returns {number}  -1 when there is nothing at the path
 */
function seekPath (buf, start, path, pathStart = 0) {
  const given = !Array.isArray(path) && isUint8Array(path) ? decode(path, pathStart) : path
  return findSteps(buf, start, buf.length, toSteps(given))
}

/**
 * Makes a `seekPath` for a path that is used often.
 * @param {ReadonlyArray<string | Uint8Array | number> | Uint8Array} path  as in `seekPath`
 * @returns {(buf: Uint8Array, start?: number) => number}  `seekPath` for this path, with its keys encoded beforehand
 */
function createSeekPath (path) {
  const steps = toSteps(isUint8Array(path) ? decode(path) : path)
  return (buf, start = 0) => findSteps(buf, start, buf.length, steps)
}

/** @type {(path: unknown) => Step[]} */
function toSteps (path) {
  if (!Array.isArray(path)) throw misuse(`expected a path as an array of keys and indexes, got ${typeof path}`)
  return path.map(toStep)
}

/** @type {(part: any) => Step} */
function toStep (part) {
  if (typeof part !== 'number') return makeKeyStep(part)
  if (!Number.isInteger(part) || part < 0) throw misuse(`an index in a path must be a whole number, got ${part}`)
  return { tag: -1, bytes: Buffer.alloc(0), index: part }
}

/** @type {(key: string | Uint8Array) => Step} */
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

/** @type {(key: string | Uint8Array) => Step} */
function makeKeyStep (key) {
  if (typeof key !== 'string' && !isUint8Array(key)) {
    throw misuse(`a key must be a string or a Buffer, got ${typeof key}`)
  }
  const bytes = Buffer.from(/** @type {string} */ (key)) // a copy, of a Buffer too: later changes must not matter
  return { tag: bytes.length << TYPE_BITS | STRING, bytes, index: -1 }
}

/** @type {Find<Step[]>} */
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
 * Whether a whole value, as far as its tag tells, begins here.
 * @type {(buf: Uint8Array, start: number, limit: number) => boolean}
 */
function fits (buf, start, limit) {
  return start >= 0 && skip(buf, start, limit) >= 0
}

/**
 * Gives the offset after the value there; -1 when no whole one begins there.
 * @type {(buf: Uint8Array, pos: number, end: number) => number}
 */
function skip (buf, pos, end) {
  const tag = readTag(buf, pos, end)
  const next = pos + tagSize(tag) + (tag >> TYPE_BITS)
  return tag < 0 || next > end ? -1 : next
}

/**
 * A key that is not found may be missing, or there may be damage in its place. Whether a whole value begins here, and
 * what it has for keys and values or items, if it is an object or an array, are whole too, as far as their tags tell.
 * @type {(buf: Uint8Array, start: number, limit: number) => boolean}
 */
function isWhole (buf, start, limit) {
  if (!fits(buf, start, limit)) return false
  const header = readTag(buf, start, limit)
  const type = header & TYPE_MASK
  if (type !== OBJECT && type !== ARRAY) return true
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  while (pos < end) {
    const keyTag = type === OBJECT ? readTag(buf, pos, end) : STRING
    if ((keyTag & TYPE_MASK) !== STRING) return false
    pos = skip(buf, type === OBJECT ? pos + tagSize(keyTag) + (keyTag >> TYPE_BITS) : pos, end)
    if (pos < 0) return false
  }
  return true
}

/** @type {Find<Step>} */
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
    const next = skip(buf, valueStart, end)
    if (next < 0) return -1
    if (keyTag === step.tag && equalBytes(buf, pos, step.bytes)) return valueStart
    pos = next
  }
  return -1
}

/** @type {Find<number>} */
function findIndex (buf, start, limit, index) {
  if (!(start >= 0)) return -1
  const header = readTag(buf, start, limit)
  if ((header & TYPE_MASK) !== ARRAY) return -1
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return -1
  for (let left = index; pos < end; left--) {
    const next = skip(buf, pos, end)
    if (next < 0) return -1
    if (left === 0) return pos
    pos = next
  }
  return -1
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {Uint8Array} bytes
 * @param {number} [from]  those before it are equal
 * @returns {boolean}
 */
function equalBytes (buf, pos, bytes, from = 0) {
  for (let i = from; i < bytes.length; i++) if (buf[pos + i] !== bytes[i]) return false
  return true
}

// The same for filters, which ask the same of each record: the same answers in half the time. All keys of a path are
// followed in one loop; tags of one and two bytes, nearly all that there are, are read in place, and keys compared by
// four bytes first.

const WORD_SIZE = 4
/** The smallest value whose tag has two bytes, and what comes before it: shorter values are rare. */
const TAG_PAIR_SIZE = 2
const NOT_FOUND = -1
/** A longer tag, or damage: `findKey` decides. */
const UNUSUAL = -2
/** What is zero in the tag of a string of up to 15 bytes: such a tag is one byte. */
const SHORT_STRING_ZEROS = 0x80 | TYPE_MASK

/**
 * A key to look for: `word` is its first four bytes, when there are as many, and `rest` is where the others begin.
 * @typedef {{ step: Step, tag: number, bytes: Uint8Array, word: number, rest: number }} Probe
 */

/** Of keys: filters ask for the same ones again and again. @type {Map<string, Probe>} */
const keptProbes = new Map()

/**
 * @param {string | number} part  a key; or a number, an index and the key of its digits
 * @returns {Probe}
 */
function toFilterProbe (part) {
  const known = typeof part === 'string' ? keptProbes.get(part) : undefined
  if (known !== undefined) return known
  const probe = makeFilterProbe(part)
  if (typeof part !== 'string' || part.length > KEPT_LENGTH_MAX) return probe
  if (keptProbes.size === STEPS_KEPT_MAX) keptProbes.clear()
  keptProbes.set(part, probe)
  return probe
}

/** @type {(part: string | number) => Probe} */
function makeFilterProbe (part) {
  const step = { ...makeKeyStep(String(part)), index: typeof part === 'number' ? part : -1 }
  const { tag, bytes } = step
  const isLong = bytes.length >= WORD_SIZE
  return { step, tag, bytes, word: isLong ? Buffer.from(bytes).readInt32LE(0) : 0, rest: isLong ? WORD_SIZE : 0 }
}

/**
 * @param {Uint8Array} buf
 * @param {DataView} words  of the same bytes
 * @param {number} limit  no byte at or after it makes a difference
 * @param {Probe[]} probes
 * @param {number[]} found  offsets of the values that the probes lead to, the start before them; those up to `known`
 *   are there. Up to the returned depth the others are filled in
 * @param {number} known
 * @returns {number}  how many probes have led to a value
 */
function followProbes (buf, words, limit, probes, found, known) {
  let depth = known
  while (depth < probes.length) {
    const probe = probes[depth]
    const { index } = probe.step
    let pos = index < 0 ? findProbe(buf, words, found[depth], limit, probe) : findIndex(buf, found[depth], limit, index)
    // An object may have a key of an index's digits.
    if (pos === UNUSUAL || (pos < 0 && index >= 0)) pos = findKey(buf, found[depth], limit, probe.step)
    if (pos < 0) return depth
    found[++depth] = pos
  }
  return depth
}

/**
 * @param {Uint8Array} buf
 * @param {DataView} words
 * @param {number} start  of an encoded value
 * @param {number} limit
 * @param {Probe} probe
 * @returns {number}  the offset of the key's value, NOT_FOUND or UNUSUAL
 */
// eslint-disable-next-line complexity -- the hot loop of seeking
function findProbe (buf, words, start, limit, { tag: wanted, word, rest, bytes }) {
  if (limit - start < TAG_PAIR_SIZE) return UNUSUAL
  let header = buf[start]
  let pos = start + 1
  if (header >= 0x80) {
    const second = buf[pos++]
    if (second === 0 || second >= 0x80) return UNUSUAL
    header = header & 0x7f | second << 7
  }
  if ((header & TYPE_MASK) !== OBJECT) return NOT_FOUND
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return NOT_FOUND
  while (pos < end) {
    const keyTag = buf[pos]
    const valueStart = pos + 1 + (keyTag >> TYPE_BITS)
    // A longer key, or damage.
    if ((keyTag & SHORT_STRING_ZEROS) !== STRING || valueStart >= end) return UNUSUAL
    const tag = buf[valueStart]
    let next = valueStart + 1 + (tag >> TYPE_BITS)
    if (tag >= 0x80) {
      const second = valueStart + 1 < end ? buf[valueStart + 1] : 0
      if (second === 0 || second >= 0x80) return UNUSUAL
      next = valueStart + 2 + ((tag & 0x7f | second << 7) >> TYPE_BITS)
    }
    if (next > end) return UNUSUAL
    const mayEqual = keyTag === wanted && (rest === 0 || words.getInt32(pos + 1, true) === word)
    if (mayEqual && equalBytes(buf, pos + 1, bytes, rest)) return valueStart
    pos = next
  }
  return NOT_FOUND
}

exports.seekKey = seekKey
exports.seekPath = seekPath
exports.createSeekPath = createSeekPath
exports.fits = fits
exports.isWhole = isWhole
exports.equalBytes = equalBytes
exports.skip = skip
exports.toFilterProbe = toFilterProbe
exports.followProbes = followProbes
