'use strict'
// Whether a text may stand in a record, without looking at most of its bytes. In a text of 54 bytes 51 positions each
// begin four bytes that are known: so one word in 51 bytes is looked up by its hash, and hardly any of them is found.

const WORD_SIZE = 4
/** 64 KiB, a byte for each hash: as much as stays near the processor. */
const HASH_BITS = 16
/** Of Knuth: 2^32 divided by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1

/** No word has this hash. A mark from 1 to OFFSET_MAX + 1 is one more than the offset of the only word that has it. */
const NONE = 0
/** The word stands in several places, or there is more than one of that hash. */
const SEVERAL = 254
/** Words of that hash stand nowhere in the text as it is, only in another spelling of it. */
const ELSEWHERE = 255
const OFFSET_MAX = SEVERAL - 2
/** More than there are offsets in a text. */
const TEXT_PLACES = 256
/** @type {number[]} */
const NO_PLACES = []

/** How many words can be looked up in the time that it takes to see that one was a false positive. */
const FALSE_POSITIVE_COST = 25
/** After so many false positives another part of the text is searched for; then after so many times as many. */
const FALSE_POSITIVES_FIRST = 256
const FALSE_POSITIVES_FACTOR = 8

/** @typedef {import('./select').Search} Search */

/** Which words of four bytes stand in texts that are searched for, by their hashes: what a search looks up. */
class WordMarks {
  constructor () {
    /** By `hashWord`. */
    this.marks = new Uint8Array(2 ** HASH_BITS)
    /** @type {Map<number, number[]>} by hashes */
    this._places = new Map()
  }

  /**
   * @param {number} word  its bytes, little-endian
   * @param {number} offset  in the text, at most OFFSET_MAX; -1 for a word of another spelling
   * @param {number} textIndex  of several texts
   */
  add (word, offset, textIndex) {
    const { marks, _places: all } = this
    const hash = hashWord(word)
    if (offset < 0) {
      if (marks[hash] === NONE) marks[hash] = ELSEWHERE
      return
    }
    const place = textIndex * TEXT_PLACES + offset
    const places = all.get(hash) ?? []
    if (!places.includes(place)) places.push(place)
    all.set(hash, places)
    marks[hash] = places.length === 1 && textIndex === 0 ? offset + 1 : SEVERAL
  }

  /**
   * @param {number} word
   * @returns {number[]}  where it may stand: TEXT_PLACES for each text before, and the offset in the text
   */
  placesOf (word) {
    return this._places.get(hashWord(word)) ?? NO_PLACES
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

/** @type {(word: number) => number} */
function hashWord (word) {
  return Math.imul(word, HASH_FACTOR) >>> (32 - HASH_BITS)
}

/**
 * @typedef {object} Part  of the text
 * @property {number} from  its offset
 * @property {Buffer} literal  its bytes, in the shortest spelling; at most OFFSET_MAX + WORD_SIZE of them
 * @property {(onWord: (word: number, offset: number) => void) => void} eachWord  gives every four bytes that may
 *   stand in it, little-endian, in any spelling, some more than once: the offset in the literal, at most OFFSET_MAX; or
 *   -1 if there is something of another spelling in them
 */

/**
 * Whether the text, or what stands for it in another spelling, may lie around a word.
 * @callback IsAround
 * @param {Buffer} buf
 * @param {number} start  from where on it is searched for: of the record, or of the records before it
 * @param {number} end  likewise
 * @param {number} first  where it begins, if all of it is in the shortest spelling
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

/** The same part of each text, in use: how well it does. What often stands elsewhere too is left out, once known. */
class SearchedPart {
  /**
   * @param {Text[]} texts
   * @param {number} from  in bytes
   * @param {number} to
   * @param {number} falsePositivesMax  after how many another one is chosen
   */
  constructor (texts, from, to, falsePositivesMax) {
    const parts = texts.map((text) => text.part(from, to))
    this.words = new WordMarks()
    for (const [index, { eachWord }] of parts.entries()) eachWord((word, offset) => this.words.add(word, offset, index))
    this.literals = parts.map(({ literal }) => literal)
    const size = Math.min(...this.literals.map(({ length }) => length))
    /** Words that begin so many bytes apart: one of them must be in the part, wherever it stands. */
    this.stride = size - WORD_SIZE + 1
    /** How many bytes were searched for it. */
    this.searched = 0
    this._from = Math.min(...parts.map(({ from }) => from))
    this._falsePositivesMax = falsePositivesMax
    this._falsePositiveCount = 0
    /** How often each word, by its offset, was found without the others. */
    this._falsePositives = new Float64Array(size)
  }

  /**
   * A word was found, but not the text.
   * @param {number} mark  of the word that was found
   * @param {number} word
   * @returns {boolean}  whether to choose another part
   */
  addFalsePositive (mark, word) {
    // One of the offsets will do, where there are several: texts that begin or end alike do so at the same ones.
    const offset = mark < SEVERAL ? mark - 1 : mark === SEVERAL ? this.words.placesOf(word)[0] % TEXT_PLACES : -1
    if (offset >= 0 && offset < this._falsePositives.length) this._falsePositives[offset]++
    return ++this._falsePositiveCount >= this._falsePositivesMax
  }

  /**
   * @param {Text[]} texts
   * @returns {SearchedPart}  what is left of this one, if that takes less time
   */
  narrow (texts) {
    const { from, to } = this._findCheapest()
    const end = this._from + to + WORD_SIZE - 1
    return new SearchedPart(texts, this._from + from, end, FALSE_POSITIVES_FACTOR * this._falsePositivesMax)
  }

  /** Going by what was seen so far. @returns {{ from: number, to: number }}  offsets of words */
  _findCheapest () {
    const { stride, searched, _falsePositives: falsePositives } = this
    let [best, bestCost] = [{ from: 0, to: stride }, Infinity]
    for (let from = 0; 2 * from < stride; from++) {
      // Of the places where a word stands one is met in as many as there are bytes from one look to the next.
      let cost = searched
      for (let to = from + 1; to <= stride; to++) {
        cost += FALSE_POSITIVE_COST * stride * falsePositives[to - 1]
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
 * Makes a search for long texts, in any of their spellings. A text of 54 bytes contains 51 known words of four bytes,
 * one at each of 51 positions. So a search that looks at every 51st position cannot miss the text.
 * @param {Text[]} texts  that are spelled alike
 * @returns {Search}  for any of them
 */
function createTextSearch (texts) {
  const [{ mayBeSpelled }] = texts
  // Made for the first search: a filter whose records an index finds may never search.
  /** @type {SearchedPart | null} */
  let chosen = null
  const chooseFirst = () => {
    const size = Math.min(...texts.map(({ size }) => size))
    return new SearchedPart(texts, 0, size, FALSE_POSITIVES_FIRST)
  }

  /**
   * @type {(part: SearchedPart, buf: Buffer, word: number, mark: number, pos: number, start: number, end: number) =>
   *   boolean}
   */
  const isThere = ({ literals, words }, buf, word, mark, pos, start, end) => {
    if (mayBeSpelled(buf, start, pos)) return true
    if (mark === ELSEWHERE) return false
    if (mark !== SEVERAL) return texts[0].isAround(buf, start, end, pos - mark + 1, mark - 1, literals[0])
    return words.placesOf(word).some((place) => {
      const [index, offset] = [Math.floor(place / TEXT_PLACES), place % TEXT_PLACES]
      return texts[index].isAround(buf, start, end, pos - offset, offset, literals[index])
    })
  }

  /**
   * A position inside the first place where the text may be; -1 only when it is not there.
   * @type {(buf: Buffer, view: DataView, start: number, end: number) => number}
   */
  const findNext = (buf, view, start, end) => {
    const last = end - WORD_SIZE
    let before = start
    for (;;) {
      const part = chosen ??= chooseFirst()
      const { words: { marks }, stride } = part
      const pos = findMarked(view, marks, before + stride - 1, last, stride)
      part.searched += Math.min(pos, last) - before
      if (pos > last) return -1
      const word = view.getInt32(pos, true)
      const mark = marks[hashWord(word)]
      if (isThere(part, buf, word, mark, pos, start, end)) return pos
      if (part.addFalsePositive(mark, word)) chosen = part.narrow(texts)
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
exports.OFFSET_MAX = OFFSET_MAX
exports.WORD_SIZE = WORD_SIZE
