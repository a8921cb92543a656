'use strict'
// The bytes of records as the lines that are printed for them, without a text for each: records that are lines already
// are copied together, checked together and written together. Whatever would have to be changed for that becomes a
// text, as in `line-codecs.js` and `records.js`, which say what a line is.

const { isUtf8 } = require('node:buffer')
const { LogError, reasonOf } = require('@millrace/errors')

const BYTES_MIN = 256 * 1024
const LINES_MAX = 16 * 1024
const [SPACE, LINE_FEED, QUOTE, DELETE] = Buffer.from(' \n"\x7f')
const [OBJECT, OBJECT_END, LIST, LIST_END] = Buffer.from('{}[]')
const WORD_SIZE = 4
/** What may lie between two records that are copied together: the envelope of a frame, and the head of a chunk. */
const GAP_SIZE_MAX = 64

/**
 * @typedef {{ buffer: Buffer, count: number, seqs: Float64Array, starts: Uint32Array, ends: Uint32Array }} Run
 *
 * @typedef {object} LineShape
 * @property {boolean} isRaw  whether the bytes are printed whatever they are
 * @property {boolean} hasSeqs
 * @property {number} sizeMax  of a line, in bytes, that is never cut
 * @property {boolean} skipsDamage  whether records without a text are left out
 * @property {(bytes: Buffer, start: number, end: number) => string} toText  throws if a record is no JSON
 * @property {(item: { seq: number, value: string }) => string} toLine
 */

class ByteLines {
  #shape
  #bytes = Buffer.alloc(0)
  #words = new Int32Array(0)
  #size = 0
  #count = 0
  /** Of each line: where its record is, and its seq. */
  #starts = new Uint32Array(LINES_MAX)
  #ends = new Uint32Array(LINES_MAX)
  #seqs = new Float64Array(LINES_MAX)
  /** Whether each record may be a line as it is, by its first and last byte and its size. */
  #areLikely = true
  /** Why a record has no text, where that ends the output. @type {LogError | null} */
  failure = null
  /** How many lines were taken. */
  count = 0
  /** Records without a text that were left out. `size` is in bytes. */
  undecodable = { count: 0, size: 0 }

  /** @param {LineShape} shape */
  constructor (shape) {
    this.#shape = shape
    this.#resize(BYTES_MIN)
  }

  get isEmpty () {
    return this.#count === 0
  }

  /** @param {number} size */
  #resize (size) {
    const memory = new ArrayBuffer(Math.ceil(size / BYTES_MIN) * BYTES_MIN)
    this.#bytes = Buffer.from(memory)
    this.#words = new Int32Array(memory)
  }

  /**
   * @param {Run} run
   * @param {Uint32Array | null} picked  indexes of the records to add; null for all of them
   * @param {number} from  place in `picked`
   * @param {number} to
   * @returns {number}  the first place that had no room
   */
  add (run, picked, from, to) {
    let place = from
    while (place < to && this.#count < LINES_MAX) {
      const end = this.#findStretch(run, picked, place, to)
      if (!this.#addStretch(run, picked, place, end)) break
      place = end
    }
    return place
  }

  /**
   * Records that lie beside one another are copied as one piece, as many as there is room for.
   * @type {(run: Run, picked: Uint32Array | null, from: number, to: number) => number} the end; at least one record
   */
  #findStretch ({ starts, ends }, picked, from, to) {
    if (this.#shape.hasSeqs) return from + 1
    const first = picked === null ? from : picked[from]
    const room = this.#bytes.length - this.#size - 2 - WORD_SIZE
    const stop = Math.min(to, from + LINES_MAX - this.#count)
    let behind = ends[first]
    let place = from + 1
    for (; place < stop; place++) {
      const index = picked === null ? place : picked[place]
      const gap = starts[index] - behind
      // Between two records there is room for the end of a line, so no line reaches a record that is not moved yet.
      if (gap < 1 || gap > GAP_SIZE_MAX || ends[index] - starts[first] > room) break
      behind = ends[index]
    }
    return place
  }

  /** @type {(run: Run, picked: Uint32Array | null, from: number, to: number) => boolean} false: there is no room */
  #addStretch ({ buffer, starts, ends, seqs }, picked, from, to) {
    const { hasSeqs, isRaw, sizeMax } = this.#shape
    const [first, last] = picked === null ? [from, to - 1] : [picked[from], picked[to - 1]]
    const head = hasSeqs ? `{"seq":${seqs[first]},"value":` : ''
    // Also room to fill the last word.
    const needed = head.length + ends[last] - starts[first] + 2 + WORD_SIZE
    if (this.#size + needed > this.#bytes.length) {
      if (this.#count > 0) return false
      this.#resize(needed)
    }
    const bytes = this.#bytes
    let at = this.#size
    if (hasSeqs) at += bytes.write(head, at, 'latin1')
    bytes.set(buffer.subarray(starts[first], ends[last]), at)
    const shift = at - starts[first]
    for (let place = from; place < to; place++) {
      const index = picked === null ? place : picked[place]
      const [start, end] = [starts[index], ends[index]]
      const lineAt = at - head.length
      // Cheaper than a copy from the other buffer, which takes an object for each.
      if (start + shift !== at) bytes.copyWithin(at, start + shift, end + shift)
      this.#starts[this.#count] = at
      at += end - start
      this.#ends[this.#count] = at
      this.#seqs[this.#count++] = seqs[index]
      if (hasSeqs) bytes[at++] = OBJECT_END
      if (!isRaw && (at - lineAt > sizeMax || !isBracketed(buffer, start, end))) this.#areLikely = false
      bytes[at++] = SPACE
    }
    this.#size = at
    return true
  }

  /** @returns {Buffer}  the lines so far, valid until the next `add` */
  take () {
    const [size, count, areLikely] = [this.#size, this.#count, this.#areLikely]
    this.#size = this.#count = 0
    this.#areLikely = true
    if (count === 0 || this.failure !== null) return this.#bytes.subarray(0, 0)
    const { isRaw, hasSeqs } = this.#shape
    const lines = this.#bytes.subarray(0, size)
    this.#bytes.fill(SPACE, size, size + WORD_SIZE)
    const areLines = isRaw || (areLikely && this.#areHarmless(lines))
    for (let index = 0; index < count; index++) this.#bytes[this.#ends[index] + (hasSeqs ? 1 : 0)] = LINE_FEED
    if (!areLines) return this.#takeApart(count)
    this.count += count
    return lines
  }

  /** @param {Buffer} lines */
  #areHarmless (lines) {
    const words = this.#words
    const count = Math.ceil(lines.length / WORD_SIZE)
    if (arePrintable(words, count)) return true
    if (!isUtf8(lines)) return false
    for (let index = 0; index < count; index++) {
      const at = WORD_SIZE * index
      if (!isPrintable(words[index]) && hasHarmful(this.#bytes, at, at + WORD_SIZE)) return false
    }
    return true
  }

  /** Line by line: only those that must be changed are. @param {number} count */
  #takeApart (count) {
    const bytes = this.#bytes
    /** @type {Uint8Array[]} */
    const parts = []
    let from = 0
    for (let index = 0; index < count; index++) {
      const lineAt = index === 0 ? 0 : this.#lineEnd(index - 1)
      if (!this.#isLine(lineAt, index)) {
        parts.push(bytes.subarray(from, lineAt), this.#makeLine(index))
        if (this.failure !== null) return Buffer.concat(parts)
        from = this.#lineEnd(index)
      } else {
        this.count++
      }
    }
    parts.push(bytes.subarray(from, this.#lineEnd(count - 1)))
    return Buffer.concat(parts)
  }

  /** Where the line after it begins. @param {number} index */
  #lineEnd (index) {
    return this.#ends[index] + (this.#shape.hasSeqs ? 2 : 1)
  }

  /** @type {(lineAt: number, index: number) => boolean} */
  #isLine (lineAt, index) {
    const bytes = this.#bytes
    const [start, end] = [this.#starts[index], this.#ends[index]]
    return this.#lineEnd(index) - 1 - lineAt <= this.#shape.sizeMax && isBracketed(bytes, start, end) &&
      isUtf8(bytes.subarray(start, end)) && !hasHarmful(bytes, start, end)
  }

  /** @param {number} index @returns {Buffer} */
  #makeLine (index) {
    const { toText, toLine, skipsDamage } = this.#shape
    const [start, end, seq] = [this.#starts[index], this.#ends[index], this.#seqs[index]]
    let value
    try {
      value = toText(this.#bytes, start, end)
    } catch (err) {
      if (skipsDamage) {
        this.undecodable.count++
        this.undecodable.size += end - start
      } else {
        // As the log itself says it.
        const message = `the codec json cannot decode the record at ${seq}: ${reasonOf(err)}`
        this.failure = new LogError('ERR_CODEC_DECODE', message, { cause: err, offset: seq })
      }
      return this.#bytes.subarray(0, 0)
    }
    this.count++
    return Buffer.from(`${toLine({ seq, value })}\n`)
  }
}

/**
 * Whether a record begins and ends as a JSON text does that is no number and no word, without a space around it.
 * @type {(bytes: Uint8Array, start: number, end: number) => boolean}
 */
function isBracketed (bytes, start, end) {
  const [first, last] = [bytes[start], bytes[end - 1]]
  if (end - start < 2) return false
  return first === OBJECT ? last === OBJECT_END : first === LIST ? last === LIST_END : first === QUOTE && last === QUOTE
}

/**
 * Whether all bytes are ASCII that is shown as it is. No branches: the processor sees one block of text like another.
 * @type {(words: Int32Array, count: number) => boolean}
 */
function arePrintable (words, count) {
  let found = 0
  for (let index = 0; index < count; index++) {
    const word = words[index]
    found |= word | (word - 0x20202020) | (word + 0x01010101)
  }
  return (found & 0x80808080) === 0
}

/** The same of four bytes: the highest bit of one is set if it, or one below it, is not. @param {number} word */
function isPrintable (word) {
  return ((word | (word - 0x20202020) | (word + 0x01010101)) & 0x80808080) === 0
}

/**
 * Whether there begins a character that `escapeControls` spells out.
 * @type {(bytes: Uint8Array, start: number, end: number) => boolean} the bytes are UTF-8
 */
function hasHarmful (bytes, start, end) {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte < SPACE || byte === DELETE) return true
    if (byte >= 0xc2 && byte <= 0xe2 && isHarmful(byte, bytes[at + 1], bytes[at + 2])) return true
  }
  return false
}

/** @type {(first: number, second: number, third: number) => boolean} the bytes of a character */
function isHarmful (first, second, third) {
  switch (first) {
    case 0xc2: return second < 0xa0 // U+0080 to U+009F
    case 0xd8: return second === 0x9c // U+061C
    case 0xe2: break
    default: return false
  }
  // U+200E, U+200F and U+2028 to U+202E; U+2066 to U+2069
  if (second === 0x80) return third === 0x8e || third === 0x8f || (third >= 0xa8 && third <= 0xae)
  return second === 0x81 && third >= 0xa6 && third <= 0xa9
}

exports.ByteLines = ByteLines
exports.isBracketed = isBracketed
