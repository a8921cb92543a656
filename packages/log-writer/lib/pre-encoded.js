'use strict'
// Codecs for logs that get bytes from a writer: it has encoded a record when the record was written, because the caller
// may change the value afterwards.

const { isUint8Array } = require('node:util').types
const { misuse } = require('@millrace/errors')
const { jsonCodec } = require('@millrace/json-codec')

/**
 * Makes a codec for the log of a writer out of any codec. The writer hands bytes to the log: another codec would encode
 * them again, so `LogWriter` refuses a log with one (`ERR_INVALID_ARGUMENT`). Readers may use the original codec.
 * @template {{ encode: (value: any) => any }} C
 * @param {C} codec
 * @returns {C}  the same codec, but a Uint8Array is a record that is encoded already
 */
function preEncoded (codec) {
  const encode = (/** @type {unknown} */ value) => isUint8Array(value) ? value : codec.encode(value)
  return Object.freeze({ ...codec, encode })
}

/**
 * Checks that a log stores the bytes that a writer hands over, and not the JSON of a Buffer.
 * @param {Pick<import('./delivery').Log, 'codec'>} log  without a codec it is not checked
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function checkCodec ({ codec }) {
  if (codec === undefined) return
  const probe = Buffer.from('{"level":30}')
  let stored = null
  try {
    stored = Buffer.from(codec.encode(probe))
  } catch {
    // It takes no bytes at all.
  }
  if (stored !== null && stored.equals(probe)) return
  throw misuse(`LogWriter: a writer hands over records that are encoded, and the codec ${codec.name ?? ''} of this log would ` +
    'encode them again; open the log with { codec: lines } for JSON, or { codec: preEncoded(codec) } for another codec')
}

exports.preEncoded = preEncoded
/**
 * The codec for a log of JSON records that a writer writes: `jsonCodec`, but a Uint8Array is JSON text already. Readers
 * may use `jsonCodec`.
 * @type {typeof jsonCodec}
 */
exports.lines = preEncoded(jsonCodec)
exports.checkCodec = checkCodec
