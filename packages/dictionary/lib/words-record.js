'use strict'
// The records that hold the words of a file. docs/internals/format.md describes their bytes.

const { LogError } = require('@millrace/errors')
const { WORD_SIZE_MAX } = require('./dictionary')

/** A words record begins with these bytes, and no packed record begins with the first of them. */
const MARK = Buffer.from([0, 0x57, 0x44, 0x53])
const FIRST_OFFSET = MARK.length
const HEAD_SIZE = FIRST_OFFSET + 3
/** The checked framing never splits so small a record, so that its bytes are always together. */
const WORDS_RECORD_SIZE_MAX = 256

/** @typedef {import('./dictionary').Dictionary} Dictionary */

/** Whether the record holds words. @type {(bytes: Uint8Array, start: number, end: number) => boolean} */
function isWordsRecord (bytes, start, end) {
  return end > start && bytes[start] === MARK[0]
}

/**
 * @param {Dictionary} dictionary
 * @param {number} first  the id of the first word to write
 * @returns {Buffer[]}  the records with all words from there on; at least one
 */
function encodeWords (dictionary, first) {
  /** @type {Buffer[]} */
  const records = []
  const { bytes, starts, sizes, count } = dictionary
  let id = first
  do {
    const record = Buffer.allocUnsafeSlow(WORDS_RECORD_SIZE_MAX)
    MARK.copy(record)
    record.writeUIntBE(id, FIRST_OFFSET, 3)
    let end = HEAD_SIZE
    for (; id < count && end + 1 + sizes[id] <= WORDS_RECORD_SIZE_MAX; id++) {
      record[end] = sizes[id]
      end += 1 + bytes.copy(record, end + 1, starts[id], starts[id] + sizes[id])
    }
    records.push(record.subarray(0, end))
  } while (id < count)
  return records
}

/**
 * Adds the words of a record. Words before them that were lost with another record get no meaning. A word that has
 * two meanings loses both.
 * @type {(dictionary: Dictionary, bytes: Uint8Array, start: number, end: number) => void}
 * @throws {LogError} ERR_CODEC_DECODE
 */
function learnWords (dictionary, bytes, start, end) {
  let id = firstWordId(bytes, start, end)
  while (dictionary.count < id) dictionary.add(bytes, 0, 0)
  for (let at = start + HEAD_SIZE; at < end; id++) {
    const wordStart = at + 1
    at = wordStart + bytes[at]
    if (at > end || at - wordStart > WORD_SIZE_MAX) throw badWords()
    if (id === dictionary.count) {
      if (dictionary.add(bytes, wordStart, at) !== id) throw badWords()
    } else if (at > wordStart && !dictionary.isAt(id, bytes, wordStart, at)) {
      dictionary.forget(id)
    }
  }
}

/**
 * The number of the first word that a record with words brings.
 * @type {(bytes: Uint8Array, start: number, end: number) => number}
 * @throws {LogError} ERR_CODEC_DECODE
 */
function firstWordId (bytes, start, end) {
  const isOne = end - start >= HEAD_SIZE && MARK.every((byte, index) => bytes[start + index] === byte)
  const at = start + FIRST_OFFSET
  const first = isOne ? bytes[at] * 0x10000 + bytes[at + 1] * 0x100 + bytes[at + 2] : Infinity
  if (first > 0x10000) throw badWords()
  return first
}

function badWords () {
  return new LogError('ERR_CODEC_DECODE', 'a record with words of the dictionary cannot be read: its bytes contradict each other')
}

exports.WORDS_RECORD_SIZE_MAX = WORDS_RECORD_SIZE_MAX
exports.encodeWords = encodeWords
exports.firstWordId = firstWordId
exports.isWordsRecord = isWordsRecord
exports.learnWords = learnWords
