'use strict'
// From a value to its bytes, or to its canonical ones: a buffer of their own, or a place in one of the caller's.

const { isUint8Array } = require('node:util').types
const { misuse, reasonOf } = require('@millrace/errors')
const { decodeWhole } = require('./decode')
const { markIdempotent } = require('./kinds')
const { sliceRange } = require('./wire-format')
const { Writer } = require('./writer')

/** @param {Writer} writer */
const finish = (writer) => writer.finish()

/** A toJSON that encodes needs a writer of its own. Deeper than this each gets a new one, which is not kept. */
const IDLE_COUNT_MAX = 8

const writeThen = createWriteThen({ isCanonical: false })
const writeCanonicalThen = createWriteThen({ isCanonical: true })

/**
 * Keeps writers at hand: one for the value that is being encoded, and one more for each that its toJSON encodes
 * meanwhile. Each keeps its memory, so that what is encoded within others shares some as well.
 * @param {{ isCanonical: boolean }} options
 * @returns {<T>(value: unknown, use: (writer: Writer, size: number) => T) => T}  writes a value; `use` may take what
 *   was written
 */
function createWriteThen ({ isCanonical }) {
  /** @type {Writer[]} */
  const idle = []
  return (value, use) => {
    const writer = idle.pop() ?? new Writer({ isCanonical })
    try {
      return use(writer, writer.write(value))
    } finally {
      if (idle.length < IDLE_COUNT_MAX) idle.push(writer)
    }
  }
}

/**
 * Encodes a value into a Buffer of its own. An encoded Buffer may share its memory with up
 * to 16 KiB of other encoded values, as small Buffers of Node.js do: to keep a single one for a long time, copy it.
 * @overload
 * @param {unknown} value
 * @returns {Buffer}  of exactly the size needed
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * Encodes a value into a place in one of your buffers. If the bytes do not fit, it throws and writes nothing.
 * @overload
 * @param {unknown} value
 * @param {Uint8Array} buf  gets the bytes; untouched when they do not fit
 * @param {number} [start]
 * @returns {number}  how many bytes were written
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * @param {unknown} value
 * @param {Uint8Array} [buf]
 * @param {number} [start]
 * @returns {Buffer | number}
 */
function encode (value, buf, start = 0) {
  if (buf === undefined) return writeThen(value, finish)
  if (!isUint8Array(buf)) throw misuse(`encode: expected a Buffer to write to, got ${typeof buf}`)
  return writeThen(value, (writer, size) => {
    if (!Number.isInteger(start) || start < 0 || start + size > buf.length) {
      throw misuse(`encode: ${size} bytes from ${reasonOf(start)} do not fit into a buffer of ${buf.length}`)
    }
    writer.copyTo(buf, start)
    return size
  })
}

/**
 * Gives how many bytes a value takes.
 * @param {unknown} value
 * @returns {number}  the size of its bytes; found by encoding it, so `encode(value)` alone is half the work of both
 */
function encodingLength (value) {
  return writeThen(value, (writer, size) => size)
}

/**
 * Encodes a value into a marked buffer.
 * @param {unknown} value
 * @returns {Buffer}  its bytes, marked: encoded as part of another value they are copied in as they are
 */
function encodeIdempotent (value) {
  return markIdempotent(encode(value))
}

/**
 * Encodes a value canonically: equal values have equal bytes, and different values different bytes. Values are equal if
 * `isDeepStrictEqual` of `node:util` finds their decoded values equal: the order of keys does not matter; 0 and -0, 1
 * and 1n, a Buffer and a Uint8Array differ. Holes and half surrogate pairs do not come back as they were, so they are
 * refused.
 * @param {unknown} value
 * @returns {Buffer}  the same bytes for all values that come back deeply equal, and for no others
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
function encodeCanonical (value) {
  return writeCanonicalThen(value, finish)
}

/**
 * Says whether bytes are canonical.
 * @param {Uint8Array} buf
 * @param {number} [start]
 * @param {number} [end]
 * @returns {boolean}  whether these bytes are one value and what `encodeCanonical` makes of it; false for what `decode`
 *   refuses. It decodes and encodes to find out
 */
function isCanonical (buf, start = 0, end = buf?.length) {
  const record = sliceRange(buf, start, end)
  try {
    return encodeCanonical(decodeWhole(record, false)).equals(record)
  } catch {
    return false
  }
}

exports.encode = encode
exports.encodingLength = encodingLength
exports.encodeIdempotent = encodeIdempotent
exports.encodeCanonical = encodeCanonical
exports.isCanonical = isCanonical
