'use strict'
// A record as one line of JSON. JSON.stringify knows neither big integers nor bytes: the former become strings of
// digits. A value that is bytes already, as of a log without a codec, is passed on as it is if it is one line.

const { isUint8Array } = require('node:util').types
const { reasonOf } = require('@millrace/errors')

/** @type {(record: { value: any }) => string} throws if JSON cannot express the value */
function toLine ({ value }) {
  if (isUint8Array(value)) return `${bytesToJson(value)}\n`
  const json = JSON.stringify(value, replace)
  if (json === undefined) throw new TypeError(`JSON has no ${typeof value}`)
  return `${json}\n`
}

/** @param {Uint8Array} bytes */
function bytesToJson (bytes) {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  return text === '' || /[\n\r]/.test(text) ? JSON.stringify(text) : text
}

/** @type {(key: string, value: unknown) => unknown} */
function replace (key, value) {
  return typeof value === 'bigint' ? String(value) : value
}

/**
 * Formats a batch. A record that cannot be formatted is refused, and the others go on.
 * @template Chunk
 * @param {import('../options').SinkRecord[]} records
 * @param {(record: import('../options').SinkRecord) => Chunk} format
 * @returns {{ chunks: Chunk[], refused: Array<{ index: number, message: string }> }}
 */
function formatAll (records, format) {
  /** @type {Chunk[]} */
  const chunks = []
  /** @type {Array<{ index: number, message: string }>} */
  const refused = []
  for (const [index, record] of records.entries()) {
    try {
      chunks.push(format(record))
    } catch (err) {
      refused.push({ index, message: `cannot be formatted: ${reasonOf(err)}` })
    }
  }
  return { chunks, refused }
}

exports.toLine = toLine
exports.formatAll = formatAll
