'use strict'
// The canonical form from outside: making it, and telling whether bytes are in it.

const { takeRange } = require('./damage')
const { decodeWhole } = require('./decode')
const { createWithWritten } = require('./writers')

const withWritten = createWithWritten({ isCanonical: true })

/**
 * @param {unknown} value
 * @returns {Buffer}  the same bytes for all values that come back deeply equal, and for no others
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
function encodeCanonical (value) {
  return withWritten(value, (writer) => writer.take())
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
