'use strict'
// The codecs that a command reads with: a record becomes the JSON text that is printed for it, on one line. They have
// the names and the filters of the codecs that made the records.

const { isUtf8 } = require('node:buffer')
const { binaryCodec } = require('@millrace/binary-codec')
const { misuse } = require('@millrace/errors')
const { jsonCodec, parseText } = require('@millrace/json-codec')
const { toJson } = require('./json')
const { countUnknown } = require('./log-tests')
const { SeenFields } = require('./seen-fields')

/**
 * @typedef {import('@millrace/offset-log').Codec<any>} Codec
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {(buf: Buffer, start: number, end: number) => string} ToText
 * @typedef {import('./log-tests').Tally & { fields: SeenFields }} Tally
 */

const BREAKS = /[\t\n\r]+/g

/** @type {Record<CodecName, ToText>} */
const toText = {
  // As it is in the log: digits and keys that JavaScript would change stay. Outside of strings such characters are
  // spaces, and inside JSON has none.
  json (buf, start, end) {
    const text = buf.toString('utf8', start, end)
    try {
      parseText(text)
    } catch {
      // It says where.
      jsonCodec.decodeRange(buf, start, end)
    }
    return text.replace(BREAKS, ' ')
  },
  binary: (buf, start, end) => toJson(binaryCodec.decodeRange(buf, start, end)),
  bytes (buf, start, end) {
    const bytes = buf.subarray(start, end)
    return isUtf8(bytes) ? JSON.stringify(bytes.toString()) : toJson(bytes)
  }
}

/** Bytes have no fields; but a line of text may say its time and level. */
const bytesCodec = {
  compile: () => () => false,
  /** @type {(buf: Buffer, start: number, end: number) => Buffer} */
  decodeRange: (buf, start, end) => buf.subarray(start, end)
}

/** @type {Record<CodecName, any>} */
const codecOfName = { json: jsonCodec, binary: binaryCodec, bytes: bytesCodec }

/** @returns {Tally} */
function createTally () {
  return { untimed: 0, unlevelled: 0, fields: new SeenFields() }
}

/**
 * @param {CodecName} name
 * @param {boolean} isRaw  whether the values are to be the bytes of the records
 * @param {Tally} [tally]  is kept of what filters leave out because they know nothing of it, and of fields
 * @returns {Codec}
 */
function createLineCodec (name, isRaw, tally = createTally()) {
  const decodeRange = isRaw ? copy : toText[name]
  const { compile, decodeRange: toValue } = codecOfName[name]
  return {
    name,
    buffer: true,
    encode: () => { throw misuse('this log is open for reading') },
    decode: (bytes) => decodeRange(bytes, 0, bytes.length),
    decodeRange,
    compile: /** @type {any} */ (tally.fields.watch(compile, countUnknown(compile, toValue, tally)))
  }
}

/** @param {Buffer} buf @param {number} start @param {number} end */
function copy (buf, start, end) {
  return Buffer.from(buf.subarray(start, end))
}

exports.createLineCodec = createLineCodec
exports.createTally = createTally
exports.toText = toText
