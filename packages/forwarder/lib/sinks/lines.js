'use strict'
// A record as one line of JSON. JSON.stringify knows neither big integers nor bytes: the former become strings of
// digits. A value that is bytes already, as of a log without a codec, is passed on as it is if it is one line.

/** @type {(record: { value: any }) => string} throws if JSON cannot express the value */
function toLine ({ value }) {
  if (value instanceof Uint8Array) return `${bytesToJson(value)}\n`
  const json = JSON.stringify(value, replace)
  if (json === undefined) throw new TypeError(`JSON has no ${typeof value}`)
  return `${json}\n`
}

/** @param {Uint8Array} bytes */
function bytesToJson (bytes) {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  return text === '' || text.includes('\n') || text.includes('\r') ? JSON.stringify(text) : text
}

/** @type {(key: string, value: unknown) => unknown} */
function replace (key, value) {
  return typeof value === 'bigint' ? String(value) : value
}

exports.toLine = toLine
