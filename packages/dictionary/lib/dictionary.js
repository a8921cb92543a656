'use strict'
// The words of one file, by id and by their bytes. Its memory has a bound: 65,536 words of at most 64 bytes.

/** Further texts stay in their records. */
const WORD_COUNT_MAX = 65536
/** A longer text stays in its record: it seldom repeats. */
const WORD_SIZE_MAX = 64
/** So many places of the table are tried. Texts that were chosen to meet in the table cannot make a search longer. */
const PROBE_COUNT_MAX = 16
/** How many texts are remembered that came once, two at each place; a power of two. */
const SEEN_COUNT = 1024
const TABLE_SIZE_MIN = 256
const BYTES_SIZE_MIN = 1024
const HASH_PRIME = 0x01000193
const NONE = -1

/** The words of one log: texts that come often, each with a number. */
class Dictionary {
  /** The bytes of all words, one after the other. */
  bytes = Buffer.allocUnsafeSlow(BYTES_SIZE_MIN)
  /** Where each word begins in `bytes`. */
  starts = new Uint32Array(TABLE_SIZE_MIN)
  /** The size of each word; 0 for a word that was lost. */
  sizes = new Uint8Array(TABLE_SIZE_MIN)
  #hashes = new Int32Array(TABLE_SIZE_MIN)
  /** By id and 1: the id and 1 of the word that last came after it as the next link; of no word at 0. */
  #followers = new Int32Array(TABLE_SIZE_MIN + 1)
  /** Ids and 1, by hash; at most half of it is used. */
  #table = new Int32Array(2 * TABLE_SIZE_MIN)
  /** At each place the hashes of two texts that came lately, by the low bits of the hash. @type {Int32Array | null} */
  #seen = null
  /** Of all hashes. Unknown to whoever chooses the texts. */
  seed = require('node:crypto').randomInt(2 ** 32) | 0
  /** How many words there are, and the bytes of all of them. */
  count = 0
  size = 0

  /**
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end
   * @returns {number}  of the text in the range
   */
  hash (source, start, end) {
    let hash = this.seed
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ source[at], HASH_PRIME)
    return hash
  }

  /**
   * The id of a text. A text becomes a word when it comes for the second time: texts that never repeat take no ids.
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end
   * @returns {number}  -1 if it is no word
   */
  wordFor (source, start, end) {
    if (end - start > WORD_SIZE_MAX || end === start) return NONE
    return this.wordOf(this.hash(source, start, end), source, start, end)
  }

  /**
   * The same for a text whose hash is known.
   * @param {number} hash
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end  the text is neither empty nor longer than a word
   * @returns {number}
   */
  wordOf (hash, source, start, end) {
    const table = this.#table
    const mask = table.length - 1
    const place = hash ^ (hash >>> 15)
    for (let probe = 0; probe < PROBE_COUNT_MAX; probe++) {
      const id = table[(place + probe) & mask] - 1
      if (id === NONE) break
      if (this.#hashes[id] === hash && this.isAt(id, source, start, end)) return id
    }
    if (this.count === WORD_COUNT_MAX || !this.#hasCome(hash)) return NONE
    return this.add(source, start, end)
  }

  /** Whether a text with this hash came a short while ago. @param {number} hash */
  #hasCome (hash) {
    this.#seen ??= new Int32Array(SEEN_COUNT)
    const seen = this.#seen
    const place = 2 * ((hash ^ (hash >>> 15)) & (SEEN_COUNT / 2 - 1))
    if (seen[place] === hash || seen[place + 1] === hash) return true
    // Which one is forgotten is left to chance. With a fixed rule, texts of one place that come in turn could displace
    // one another for ever, and never become words.
    if (Math.random() < 0.5) seen[place + 1] = seen[place]
    seen[place] = hash
    return false
  }

  /**
   * @param {number} id
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end  the word must end at or before it
   * @returns {boolean}  whether the word ends there
   */
  isAt (id, source, start, end) {
    return this.sizes[id] === end - start && this.begins(id, source, start, end)
  }

  /**
   * @param {number} id
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end
   * @returns {boolean}  whether the range begins with the word
   */
  begins (id, source, start, end) {
    const size = this.sizes[id]
    if (size === 0 || size > end - start) return false
    const { bytes } = this
    let from = this.starts[id]
    for (let at = start, stop = start + size; at < stop; at++) if (source[at] !== bytes[from++]) return false
    return true
  }

  /**
   * Adds a word, which gets the next id.
   * @param {Uint8Array} source
   * @param {number} start
   * @param {number} end  an empty range stands for a word that was lost
   * @returns {number}  its id
   */
  add (source, start, end) {
    const id = this.count
    if (id === WORD_COUNT_MAX) return NONE
    this.#reserve(end - start)
    this.starts[id] = this.size
    this.sizes[id] = end - start
    this.bytes.set(source.subarray(start, end), this.size)
    this.size += end - start
    this.#hashes[id] = this.hash(source, start, end)
    this.count++
    if (end > start) this.#enter(id)
    return id
  }

  /**
   * Which word came last after a word. Only a guess: it says where to look first.
   * @param {number} id  -1 for the beginning of a record
   * @returns {number}  -1 if none
   */
  follower (id) {
    return this.#followers[id + 1] - 1
  }

  /**
   * Remembers which word came after another one, so that it is looked for first.
   * @type {(id: number, next: number) => void}
   */
  noteFollower (id, next) {
    this.#followers[id + 1] = next + 1
  }

  /** Makes a word unusable, because the file gives it two meanings. @param {number} id */
  forget (id) {
    this.sizes[id] = 0
  }

  /** @param {number} size  of the next word */
  #reserve (size) {
    if (this.size + size > this.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(2 * this.bytes.length)
      this.bytes.copy(larger, 0, 0, this.size)
      this.bytes = larger
    }
    if (this.count < this.starts.length) return
    const length = 2 * this.count
    this.starts = grown(new Uint32Array(length), this.starts)
    this.sizes = grown(new Uint8Array(length), this.sizes)
    this.#hashes = grown(new Int32Array(length), this.#hashes)
    this.#followers = grown(new Int32Array(length + 1), this.#followers)
    this.#table = new Int32Array(2 * length)
    for (let id = 0; id < this.count; id++) this.#enter(id)
  }

  /** @param {number} id */
  #enter (id) {
    const hash = this.#hashes[id]
    const mask = this.#table.length - 1
    for (let probe = 0; probe < PROBE_COUNT_MAX; probe++) {
      const place = ((hash ^ (hash >>> 15)) + probe) & mask
      if (this.#table[place] !== 0) continue
      this.#table[place] = id + 1
      return
    }
    // It is not found any more, and its text stays in later records.
  }
}

/**
 * @template {Uint8Array | Uint32Array | Int32Array} T
 * @param {T} larger
 * @param {T} list
 * @returns {T}
 */
function grown (larger, list) {
  larger.set(list)
  return larger
}

exports.WORD_COUNT_MAX = WORD_COUNT_MAX
exports.WORD_SIZE_MAX = WORD_SIZE_MAX
exports.HASH_PRIME = HASH_PRIME
exports.Dictionary = Dictionary
