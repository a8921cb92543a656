'use strict'
// Codecs for logs that get bytes from a writer: it has encoded a record when the record was written, because the caller
// may change the value afterwards.

const { jsonCodec } = require('@millrace/json-codec')

/**
 * @template {{ encode: (value: any) => any }} C
 * @param {C} codec
 * @returns {C}  the same codec, but a Uint8Array is a record that is encoded already
 */
function preEncoded (codec) {
  const encode = (/** @type {unknown} */ value) => value instanceof Uint8Array ? value : codec.encode(value)
  return Object.freeze({ ...codec, encode })
}

exports.preEncoded = preEncoded
/** Records of JSON; a Uint8Array is JSON text already. @type {typeof jsonCodec} */
exports.lines = preEncoded(jsonCodec)
