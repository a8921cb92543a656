'use strict'
// Which words of four bytes stand in a text that is searched for, by their hashes: what a search looks up.

const WORD_SIZE = 4
/** 64 KiB, a byte for each hash: as much as stays near the processor. */
const HASH_BITS = 16
/** Of Knuth: 2^32 by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1

/** No word has this hash. A mark from 1 to OFFSET_MAX + 1 is one more than the offset of the only word that has it. */
const NONE = 0
/** The word stands in several places, or there is more than one of that hash. */
const SEVERAL = 254
/** Words of that hash stand nowhere in the text as it is, only in another spelling of it. */
const ELSEWHERE = 255
const OFFSET_MAX = SEVERAL - 2

class WordMarks {
  constructor () {
    /** By `hashWord`. */
    this.marks = new Uint8Array(2 ** HASH_BITS)
    /** @type {Map<number, number[]>} by hashes */
    this._offsets = new Map()
  }

  /**
   * @param {number} word  its bytes, little-endian
   * @param {number} offset  in the text, at most OFFSET_MAX; -1 for a word of another spelling
   */
  add (word, offset) {
    const { marks, _offsets: all } = this
    const hash = hashWord(word)
    if (offset < 0) {
      if (marks[hash] === NONE) marks[hash] = ELSEWHERE
      return
    }
    const offsets = all.get(hash) ?? []
    if (!offsets.includes(offset)) offsets.push(offset)
    all.set(hash, offsets)
    marks[hash] = offsets.length === 1 ? offset + 1 : SEVERAL
  }

  /**
   * @param {number} word
   * @returns {number[]}  every offset in the text at which it may stand
   */
  offsetsOf (word) {
    return this._offsets.get(hashWord(word)) ?? []
  }
}

/**
 * The loop in which a search spends its time. Nothing is called in it, so all that it looks at stays in registers.
 * @param {DataView} view
 * @param {Uint8Array} marks
 * @param {number} pos  of the first word to look at
 * @param {number} last  where the last one may begin
 * @param {number} stride  from word to word, in bytes
 * @returns {number}  the position of the first word that is marked; beyond `last` when none is
 */
function findMarked (view, marks, pos, last, stride) {
  while (pos <= last && marks[hashWord(view.getInt32(pos, true))] === NONE) pos += stride
  return pos
}

/**
 * @param {number} word
 * @returns {number}
 */
function hashWord (word) {
  return Math.imul(word, HASH_FACTOR) >>> (32 - HASH_BITS)
}

exports.WordMarks = WordMarks
exports.findMarked = findMarked
exports.hashWord = hashWord
exports.WORD_SIZE = WORD_SIZE
exports.OFFSET_MAX = OFFSET_MAX
exports.SEVERAL = SEVERAL
exports.ELSEWHERE = ELSEWHERE
