'use strict'
// A record as it is stored: JSON text with the time of receipt, the client's value byte for byte, and, in the last
// record of a batch that has an idempotency key, a mark.
//
//   {"time":1790000000000,"value":...}
//   {"time":1790000000000,"idempotency":{"key":"<hex>","body":"<hex>","count":3},"value":...}
//
// So the mark is in the same commit as the data, and a crash takes both or neither.

const { jsonCodec } = require('@millrace/json-codec')
const { lines } = require('@millrace/log-writer')

const MARK_KEY = '"idempotency":'
const MARK_END = '},"value":'

/** The last one without a mark, and its time. */
let envelope = { before: '', after: '}' }
let envelopeMs = NaN

/**
 * @typedef {object} Mark
 * @property {string} key  hash of the idempotency key, the API key and the log
 * @property {string} body  hash of the request's body
 * @property {number} count  of the records in the batch
 */

/** JSON by name, but it gives and takes the bytes: a reader hands them on. @type {any} */
const recordCodec = Object.freeze({
  ...lines,
  decode: (/** @type {Uint8Array} */ bytes) => Buffer.from(bytes),
  /** @type {(bytes: Uint8Array, start: number, end: number) => Buffer} */
  decodeRange: (bytes, start, end) => Buffer.from(bytes.subarray(start, end))
})

/**
 * @param {number} timeMs
 * @param {string[]} texts  JSON of each value
 * @param {Mark | null} mark  for the last record
 * @returns {Buffer[]}
 */
function encodeRecords (timeMs, texts, mark) {
  if (texts.length === 1) return [encodeRecord(timeMs, texts[0], mark)]
  if (mark === null) return encodeAll(timeMs, texts)
  return [...encodeAll(timeMs, texts.slice(0, -1)), encodeRecord(timeMs, texts[texts.length - 1], mark)]
}

/** @type {(timeMs: number, text: string, mark: Mark | null) => Buffer} */
function encodeRecord (timeMs, text, mark) {
  const { before, after } = envelopeOf(timeMs, mark)
  return Buffer.from(`${before}${text}${after}`)
}

/**
 * Makes one Buffer for all of them, and cuts it: to make one for each takes half as much time again.
 * @type {(timeMs: number, texts: string[]) => Buffer[]}
 */
function encodeAll (timeMs, texts) {
  const { before, after } = envelopeOf(timeMs, null)
  const all = `${before}${texts.join(`${after}${before}`)}${after}`
  const bytes = Buffer.from(all)
  // Only in ASCII is a character a byte, so that the ends of the texts are the ends of the bytes.
  if (bytes.length !== all.length) return texts.map((text) => encodeRecord(timeMs, text, null))
  const envelopeSize = before.length + after.length
  let end = 0
  return texts.map((text) => {
    const start = end
    end += envelopeSize + text.length
    return bytes.subarray(start, end)
  })
}

/**
 * What stands around the client's value.
 * @type {(timeMs: number, mark: Mark | null) => { before: string, after: string }}
 */
function envelopeOf (timeMs, mark) {
  if (mark !== null) return { before: `{"time":${timeMs},${MARK_KEY}${JSON.stringify(mark)},"value":`, after: '}' }
  // Many requests come in the same millisecond.
  if (timeMs !== envelopeMs) envelope = { before: `{"time":${timeMs},"value":`, after: '}' }
  envelopeMs = timeMs
  return envelope
}

/** The record as readers get it, with its seq and without its mark. @type {(seq: number, bytes: Buffer) => string} */
function showRecord (seq, bytes) {
  const text = bytes.toString()
  const comma = text.indexOf(',') + 1
  if (!text.startsWith(MARK_KEY, comma)) return `{"seq":${seq},${text.slice(1)}`
  // The mark holds hex digits and a number: this is its end.
  const end = text.indexOf(MARK_END, comma) + 2
  return `{"seq":${seq},${text.slice(1, comma)}${text.slice(end)}`
}

/** @type {(bytes: Buffer) => { time: number, idempotency?: Mark, value: any }} */
function decodeRecord (bytes) {
  return jsonCodec.decode(bytes)
}

/**
 * A filter on values, as one on records.
 * @param {any} filter  one that `parseWhere` accepts
 * @returns {any}
 */
function onValues (filter) {
  if (Array.isArray(filter)) return filter.map(onValues)
  for (const name of ['any', 'all']) if (Array.isArray(filter[name])) return { [name]: filter[name].map(onValues) }
  if (filter.not !== undefined) return { not: onValues(filter.not) }
  // Paths inside `includes` begin at the element.
  return { ...filter, path: ['value', ...filter.path] }
}

exports.recordCodec = recordCodec
exports.encodeRecords = encodeRecords
exports.envelopeOf = envelopeOf
exports.showRecord = showRecord
exports.decodeRecord = decodeRecord
exports.onValues = onValues
