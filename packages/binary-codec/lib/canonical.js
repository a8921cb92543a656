'use strict'
// The canonical form from outside: making it, and telling whether bytes are in it.

const { takeRange } = require('./damage')
const { decodeWhole } = require('./decode')
const { Writer } = require('./writer')

/** @type {Writer | null} null while a value is being written, since its toJSON may encode another */
let idleWriter = null

/**
 * @param {unknown} value
 * @returns {Buffer}  the same bytes for all values that come back deeply equal, and for no others
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
function encodeCanonical (value) {
  const writer = idleWriter ?? new Writer({ isCanonical: true })
  idleWriter = null
  try {
    const size = writer.write(value)
    return Buffer.from(writer.buf.subarray(0, size))
  } finally {
    idleWriter = writer
  }
}

/**
 * @param {Uint8Array} buf
 * @param {number} [start]
 * @param {number} [end]
 * @returns {boolean}  whether these bytes are one value and what `encodeCanonical` makes of it; false for what `decode`
 *   refuses. It decodes and encodes to find out
 */
function isCanonical (buf, start = 0, end = buf?.length) {
  const record = takeRange(buf, start, end)
  try {
    return encodeCanonical(decodeWhole(record, false)).equals(record)
  } catch {
    return false
  }
}

exports.encodeCanonical = encodeCanonical
exports.isCanonical = isCanonical
