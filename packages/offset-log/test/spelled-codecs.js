'use strict'
// Codecs for logs that other programs may have written: JSON in odd spellings; and JSON without a `compile` of its own,
// so that the log decodes each record.

const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')

let turn = 0

/** One record in two: spaces, escapes of letters, numbers with exponents. Neither letter is in true, false or null. */
function spellOddly (value) {
  if (turn++ % 2 === 0) return jsonCodec.encode(value)
  const text = JSON.stringify(value, null, turn % 3)
  return Buffer.from(text
    .replace(/(?<=[ :,[])(-?[1-9]\d{0,5})(?=[,}\]\n])/g, '$100e-2')
    .replace(/(?<!\\)[po]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`))
}

exports.binary = binaryCodec
exports.json = { ...jsonCodec, encode: spellOddly }
exports.decoded = { name: 'decoded', encode: spellOddly, decode: (bytes) => jsonCodec.decode(bytes), buffer: true }
