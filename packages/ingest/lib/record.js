'use strict'
// A record as it is stored: JSON text with the time of receipt, the client's value byte for byte, and, in the last
// record of a batch that has an idempotency key, a mark.
//
//   {"time":1790000000000,"value":...}
//   {"time":1790000000000,"idempotency":{"key":"<hex>","body":"<hex>","count":3},"value":...}
//
// So the mark is in the same commit as the data, and a crash takes both or neither.

const { Piece, copyBytes } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { lines } = require('@millrace/log-writer')

const MARK_KEY = '"idempotency":'
const MARK_END = '},"value":'

const HEAD_TEXT = '{"time":0000000000000,"value":'
const HEAD = Buffer.from(HEAD_TEXT)
const TAIL = Buffer.from('}')
const TIME_AT = '{"time":'.length
const TIME_LENGTH = 13
const ENVELOPE_SIZE = HEAD.length + TAIL.length
const [NEWLINE, RETURN, SPACE] = Buffer.from('\n\r ')

/** The time that was written last, as digits. */
let digits = Buffer.alloc(TIME_LENGTH)
let digitsMs = NaN

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
 * Records without their time, all in one block.
 * @type {(bytes: Uint8Array, cuts: number[]) => { block: Buffer, records: Buffer[] }}  `cuts`: the JSON texts of the
 *   values: from, to, from, to and so on
 */
function makeRecords (bytes, cuts) {
  let size = cuts.length / 2 * ENVELOPE_SIZE
  for (let index = 0; index < cuts.length; index += 2) size += cuts[index + 1] - cuts[index]
  const block = Buffer.allocUnsafe(size)
  const records = []
  let at = 0
  for (let index = 0; index < cuts.length; index += 2) {
    const from = at
    at = copyBytes(HEAD, 0, HEAD.length, block, at)
    at = copyBytes(bytes, cuts[index], cuts[index + 1], block, at)
    at = copyBytes(TAIL, 0, TAIL.length, block, at)
    records.push(cuts.length === 2 ? block : new Piece(block.buffer, block.byteOffset + from, at - from))
  }
  // A line break is between tokens: in a string it would not be JSON.
  for (const lineBreak of [NEWLINE, RETURN]) {
    for (let at = block.indexOf(lineBreak); at !== -1; at = block.indexOf(lineBreak, at + 1)) block[at] = SPACE
  }
  return { block, records }
}

/** The same of one text. @param {string} text */
function makeRecord (text) {
  return Buffer.from(`${HEAD_TEXT}${text}}`)
}

/**
 * Gives records their time, once it is known.
 * @type {(records: Buffer[], timeMs: number, mark: Mark | null) => void}  `mark`: for the last record
 */
function stampRecords (records, timeMs, mark) {
  if (timeMs !== digitsMs) {
    // A clock that is far off has fewer digits: JSON may have spaces there, but no zeros.
    digits = Buffer.from(String(timeMs).padStart(TIME_LENGTH))
    digitsMs = timeMs
  }
  for (const record of records) copyBytes(digits, 0, TIME_LENGTH, record, TIME_AT)
  if (mark === null) return
  const last = records[records.length - 1]
  const head = Buffer.from(`{"time":${timeMs},${MARK_KEY}${JSON.stringify(mark)},"value":`)
  records[records.length - 1] = Buffer.concat([head, last.subarray(HEAD.length)])
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
exports.HEAD = HEAD
exports.TAIL = TAIL
exports.ENVELOPE_SIZE = ENVELOPE_SIZE
exports.makeRecord = makeRecord
exports.makeRecords = makeRecords
exports.stampRecords = stampRecords
exports.showRecord = showRecord
exports.decodeRecord = decodeRecord
exports.onValues = onValues
