'use strict'
// The seek functions for filters, which ask the same of each record: the same answers in half the time. All keys of a
// path are followed in one loop; tags of one and two bytes, nearly all that there are, are read in place, and keys
// compared by four bytes first.

const { findKey } = require('./seek')
const { OBJECT, STRING, TYPE_BITS, TYPE_MASK } = require('./types')

const WORD_SIZE = 4
/** The smallest value whose tag has two bytes, and what comes before it: less is seldom worth a thought. */
const TAG_PAIR_SIZE = 2
const NOT_FOUND = -1
/** A longer tag, or damage: `findKey` judges. */
const UNUSUAL = -2
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
 * @param {number} limit  no byte at or behind it makes a difference
 * @param {Turn[]} turns
 * @param {number[]} found  offsets of the values that the turns lead to, the start before them; those up to `known`
 *   are there. Up to the returned depth the others are filled in
 * @param {number} known
 * @returns {number}  how many turns have led to a value
 */
function followTurns (buf, words, limit, turns, found, known) {
  let depth = known
  while (depth < turns.length) {
    const turn = turns[depth]
    let pos = turnInto(buf, words, found[depth], limit, turn)
    if (pos === UNUSUAL) pos = findKey(buf, found[depth], limit, turn.step)
    if (pos < 0) return depth
    found[++depth] = pos
  }
  return depth
}

/**
 * @param {Uint8Array} buf
 * @param {DataView} words
 * @param {number} start  of an encoded value
 * @param {number} limit
 * @param {Turn} turn
 * @returns {number}  the offset of the key's value, NOT_FOUND or UNUSUAL
 */
function turnInto (buf, words, start, limit, { tag: wanted, word, rest, bytes }) {
  if (limit - start < TAG_PAIR_SIZE) return UNUSUAL
  let header = buf[start]
  let pos = start + 1
  if (header >= 0x80) {
    const second = buf[pos++]
    if (second === 0 || second >= 0x80) return UNUSUAL
    header = header & 0x7f | second << 7
  }
  if ((header & TYPE_MASK) !== OBJECT) return NOT_FOUND
  const end = pos + (header >> TYPE_BITS)
  if (end > limit) return NOT_FOUND
  while (pos < end) {
    const keyTag = buf[pos]
    const valueStart = pos + 1 + (keyTag >> TYPE_BITS)
    // A longer key, or damage.
    if ((keyTag & SHORT_STRING_ZEROS) !== STRING || valueStart >= end) return UNUSUAL
    const tag = buf[valueStart]
    let next = valueStart + 1 + (tag >> TYPE_BITS)
    if (tag >= 0x80) {
      const second = valueStart + 1 < end ? buf[valueStart + 1] : 0
      if (second === 0 || second >= 0x80) return UNUSUAL
      next = valueStart + 2 + ((tag & 0x7f | second << 7) >> TYPE_BITS)
    }
    if (next > end) return UNUSUAL
    const mayEqual = keyTag === wanted && (rest === 0 || words.getInt32(pos + 1, true) === word)
    if (mayEqual && equalRest(buf, pos + 1, bytes, rest)) return valueStart
    pos = next
  }
  return NOT_FOUND
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
exports.followTurns = followTurns
