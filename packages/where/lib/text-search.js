'use strict'
// Whether a text may stand in a record, without looking at most of its bytes. In a text of 54 bytes 51 positions each
// begin four bytes that are known: so one word in 51 bytes is looked up, and hardly any of them is found.

const { ELSEWHERE, SEVERAL, WORD_SIZE, findMarked, hashWord } = require('./word-marks')

/** How many words can be looked up in the time that it takes to see that one was found by chance. */
const CHANCE_COST = 25
/** After so many chances the part of the text that is searched for is chosen anew; then after so many times as many. */
const CHANCES_FIRST = 256
const CHANCES_FACTOR = 8

/**
 * @typedef {import('./word-marks').WordMarks} WordMarks
 * @typedef {import('./select-records').Search} Search
 */

/**
 * @typedef {object} Part  of the text
 * @property {number} from  its offset
 * @property {Buffer} literal  its bytes, in the shortest spelling; at most OFFSET_MAX + WORD_SIZE of them
 * @property {WordMarks} words  every four bytes that may stand in it, in any spelling
 */

/**
 * Whether the text, or what stands for it in another spelling, may lie around a word.
 * @callback IsAround
 * @param {Buffer} buf
 * @param {number} start  from where on it is searched for: of the record, or of the records before it
 * @param {number} end  likewise
 * @param {number} first  where it begins, if nothing of it is spelled in another way
 * @param {number} offset  of the word that was found there
 * @param {Buffer} literal  the part that is searched for
 * @returns {boolean}
 */

/**
 * @typedef {object} Text
 * @property {number} size  of all of it, in bytes
 * @property {(from: number, to: number) => Part} part  what lies between two offsets, and all of what they cut
 * @property {IsAround} isAround
 * @property {(buf: Buffer, start: number, pos: number) => boolean} mayBeSpelled  whether the word at `pos` may be of
 *   another spelling
 */

/** A part of a text in use: how well it does. What often stands in other texts too is left out, once it is known. */
class SearchedPart {
  /**
   * @param {Part} part
   * @param {number} chancesMax  after how many another one is chosen
   */
  constructor ({ from, literal, words }, chancesMax) {
    this.literal = literal
    this.words = words
    /** Words that begin so many bytes apart: one of them must be in the part, wherever it stands. */
    this.stride = literal.length - WORD_SIZE + 1
    /** How many bytes were searched for it. */
    this.searched = 0
    this._from = from
    this._chancesMax = chancesMax
    this._chanceCount = 0
    /** How often each word, by its offset, was found without the others. */
    this._chances = new Float64Array(literal.length)
  }

  /**
   * The text was not there after all.
   * @param {number} mark  of the word that was found
   * @returns {boolean}  whether to choose another part
   */
  noteChance (mark) {
    if (mark < SEVERAL) this._chances[mark - 1]++
    return ++this._chanceCount >= this._chancesMax
  }

  /**
   * @param {Text} text
   * @returns {SearchedPart}  what is left of this one, if that takes less time
   */
  narrow (text) {
    const { from, to } = this._findCheapest()
    const part = text.part(this._from + from, this._from + to + WORD_SIZE - 1)
    return new SearchedPart(part, CHANCES_FACTOR * this._chancesMax)
  }

  /** Going by what was seen so far. @returns {{ from: number, to: number }}  offsets of words */
  _findCheapest () {
    const { stride, searched, _chances: chances } = this
    let [best, bestCost] = [{ from: 0, to: stride }, Infinity]
    for (let from = 0; 2 * from < stride; from++) {
      // Of the places where a word stands one is met in as many as there are bytes from one look to the next.
      let cost = searched
      for (let to = from + 1; to <= stride; to++) {
        cost += CHANCE_COST * stride * chances[to - 1]
        const count = to - from
        if (2 * count < stride || cost / count >= bestCost) continue
        best = { from, to }
        bestCost = cost / count
      }
    }
    return best
  }
}

/**
 * @param {Text} text
 * @returns {Search}
 */
function createTextSearch (text) {
  let chosen = new SearchedPart(text.part(0, text.size), CHANCES_FIRST)

  const isThere = (/** @type {Buffer} */ buf, /** @type {number} */ word, /** @type {number} */ mark,
    /** @type {number} */ pos, /** @type {number} */ start, /** @type {number} */ end) => {
    const { literal, words } = chosen
    if (text.mayBeSpelled(buf, start, pos)) return true
    if (mark === ELSEWHERE) return false
    if (mark !== SEVERAL) return text.isAround(buf, start, end, pos - mark + 1, mark - 1, literal)
    return words.offsetsOf(word).some((offset) => text.isAround(buf, start, end, pos - offset, offset, literal))
  }

  /** A position inside the first place where the text may be; -1 only when it is not there. */
  const findNext = (/** @type {Buffer} */ buf, /** @type {DataView} */ view, /** @type {number} */ start,
    /** @type {number} */ end) => {
    const last = end - WORD_SIZE
    let before = start
    for (;;) {
      const { words: { marks }, stride } = chosen
      const pos = findMarked(view, marks, before + stride - 1, last, stride)
      chosen.searched += Math.min(pos, last) - before
      if (pos > last) return -1
      const word = view.getInt32(pos, true)
      const mark = marks[hashWord(word)]
      if (isThere(buf, word, mark, pos, start, end)) return pos
      if (chosen.noteChance(mark)) chosen = chosen.narrow(text)
      before = pos + 1
    }
  }

  return {
    find (buf, from, to, places) {
      const view = new DataView(buf.buffer, buf.byteOffset, buf.length)
      let count = 0
      for (let at = from; count < places.length; at = places[count++] + 1) {
        const place = findNext(buf, view, at, to)
        if (place < 0) break
        places[count] = place
      }
      return count
    }
  }
}

exports.createTextSearch = createTextSearch
