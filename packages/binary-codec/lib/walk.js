'use strict'
// `findKey` of the seek functions for filters, which ask the same of each record: the same answer in two thirds of the
// time. Tags of one and two bytes, nearly all that there are, are read in place, and keys compared by four bytes first.

const { findKey } = require('./seek')
const { BAD_TAG, readTag, tagSize } = require('./varint')
const { OBJECT, STRING, TYPE_BITS, TYPE_MASK } = require('./types')

const WORD_SIZE = 4
/** What is zero in the tag of a string of up to 15 bytes: such a tag is one byte. */
const SHORT_STRING_ZEROS = 0x80 | TYPE_MASK

/**
 * A key to look for: `word` is its first four bytes, when there are as many, and `rest` is where the others begin.
 * @typedef {{ step: import('./seek').Step, tag: number, bytes: Uint8Array, word: number, rest: number }} Turn
 */

/**
 * @param {import('./seek').Step} step  of a key
 * @returns {Turn}
 */
function makeTurn (step) {
  const { tag, bytes } = step
  const isLong = bytes.length >= WORD_SIZE
  return { step, tag, bytes, word: isLong ? Buffer.from(bytes).readInt32LE(0) : 0, rest: isLong ? WORD_SIZE : 0 }
}

/**
 * @param {Uint8Array} buf
 * @param {DataView} words  of the same bytes
 * @param {number} start  of an encoded value
 * @param {number} limit  no byte at or behind it makes a difference
 * @param {Turn} turn
 * @returns {number}  the offset of the key's value; -1 when there is none
 */
function turnInto (buf, words, start, limit, turn) {
  const header = readTag(buf, start, limit)
  if (header === BAD_TAG || (header & TYPE_MASK) !== OBJECT) return -1
  let pos = start + tagSize(header)
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return -1
  const { tag: wanted, word, rest, bytes } = turn
  while (pos < end) {
    const keyTag = buf[pos]
    // A longer key, or damage.
    if ((keyTag & SHORT_STRING_ZEROS) !== STRING) return findKey(buf, start, limit, turn.step)
    const valueStart = pos + 1 + (keyTag >> TYPE_BITS)
    if (valueStart >= end) return -1
    const tag = buf[valueStart]
    let next = valueStart + 1 + (tag >> TYPE_BITS)
    if (tag >= 0x80) {
      const second = valueStart + 1 < end ? buf[valueStart + 1] : 0
      if (second === 0 || second >= 0x80) return findKey(buf, start, limit, turn.step)
      next = valueStart + 2 + ((tag & 0x7f | second << 7) >> TYPE_BITS)
    }
    if (next > end) return -1
    const mayEqual = keyTag === wanted && (rest === 0 || words.getInt32(pos + 1, true) === word)
    if (mayEqual && equalRest(buf, pos + 1, bytes, rest)) return valueStart
    pos = next
  }
  return -1
}

/**
 * @param {Uint8Array} buf
 * @param {number} pos
 * @param {Uint8Array} bytes
 * @param {number} from  those before it are equal
 * @returns {boolean}
 */
function equalRest (buf, pos, bytes, from) {
  for (let i = from; i < bytes.length; i++) if (buf[pos + i] !== bytes[i]) return false
  return true
}

exports.makeTurn = makeTurn
exports.turnInto = turnInto
