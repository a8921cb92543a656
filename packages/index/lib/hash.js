'use strict'
// The keyed hashes of values. Whoever chooses values does not know the key, so cannot make many of them collide.

const { randomBytes } = require('node:crypto')

const KEY_SIZE = 16
/** What a value is goes into its hash: 1, '1' and true differ. */
const TEXT = 1
const NUMBER = 2
const TRUE = 3
const FALSE = 4
const NULL = 5

// Odd numbers with well mixed bits: those of xxHash and MurmurHash.
const [P1, P2, P3] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d]
const WORD_SIZE = 4
const ALL_BITS = 32
const HIGH_BITS = 0x80808080

/** In characters. It needs no memory of its own. */
const SHORT_TEXT_MAX = 256
const UTF8_SIZE_MAX = 3
/** So many characters are written one by one. */
const KEY_TEXT_MAX = 64
const shortText = Buffer.alloc(UTF8_SIZE_MAX * SHORT_TEXT_MAX)
const shortWords = new DataView(shortText.buffer, shortText.byteOffset, shortText.length)

const double = new Float64Array(1)
const doubleWords = new Int32Array(double.buffer)

/** @typedef {string | number | boolean | null} Primitive */

/** Hashes values, and holds the hash of the last one: an object for each would cost more than to make it. */
class Hasher {
  #first
  #second
  #mask

  /**
   * @param {Buffer} key  KEY_SIZE bytes
   * @param {number} [bits]  how many of the short hash are used; with few, tests see what collisions do
   */
  constructor (key, bits = ALL_BITS) {
    this.key = key
    this.#first = key.readInt32LE(0) ^ key.readInt32LE(8)
    this.#second = key.readInt32LE(4) ^ key.readInt32LE(12)
    this.#mask = bits === ALL_BITS ? -1 : ~(-1 >>> bits)
    /** The short hash, of 32 bits. */
    this.short = 0
    /** The long one, of 64 bits. `low` and a short hash of all bits tell what `high` is: see `#finish`. */
    this.low = 0
    this.high = 0
    /** Whether the bytes that `hashBytes` has hashed last are ASCII. */
    this.isAscii = true
  }

  /** What the hashes depend on, for who makes them elsewhere. */
  get seeds () {
    return [this.#first, this.#second, this.#mask]
  }

  /**
   * Of a text by its UTF-8.
   * @param {DataView} words  of the same bytes as `buf`
   * @param {Uint8Array} buf
   * @param {number} start
   * @param {number} end
   */
  hashBytes (words, buf, start, end) {
    let a = this.#first ^ Math.imul(end - start, P3) ^ TEXT
    let b = this.#second + Math.imul(end - start, P1) | 0
    let at = start
    let bits = 0
    for (const stop = end - WORD_SIZE; at <= stop; at += WORD_SIZE) {
      const word = words.getInt32(at, true)
      bits |= word
      a = Math.imul(a ^ word, P1)
      a ^= a >>> 15
      b = Math.imul(b + word | 0, P2)
      b ^= b >>> 13
    }
    for (; at < end; at++) {
      const byte = buf[at]
      bits |= byte
      a = Math.imul(a ^ byte, P1)
      a ^= a >>> 15
      b = Math.imul(b + byte | 0, P2)
      b ^= b >>> 13
    }
    this.isAscii = (bits & HIGH_BITS) === 0
    this.#finish(a, b)
  }

  /** @param {string} text */
  hashText (text) {
    if (text.length <= SHORT_TEXT_MAX) return this.hashBytes(shortWords, shortText, 0, writeShort(text))
    const bytes = Buffer.from(text)
    this.hashBytes(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), bytes, 0, bytes.length)
  }

  /** 0 and -0 are `===`, so they have one hash. @param {number} value  not NaN */
  hashNumber (value) {
    double[0] = value === 0 ? 0 : value
    let a = Math.imul(this.#first ^ doubleWords[0] ^ NUMBER, P1)
    let b = Math.imul(this.#second + doubleWords[0] | 0, P2)
    a ^= a >>> 15
    b ^= b >>> 13
    a = Math.imul(a ^ doubleWords[1], P1)
    b = Math.imul(b + doubleWords[1] + NUMBER | 0, P2)
    this.#finish(a ^ a >>> 15, b ^ b >>> 13)
  }

  /** @param {number} kind  TRUE, FALSE or NULL */
  hashConstant (kind) {
    this.#finish(this.#first ^ kind, this.#second + kind | 0)
  }

  /** @param {Primitive} value  not NaN */
  hashValue (value) {
    if (typeof value === 'string') this.hashText(value)
    else if (typeof value === 'number') this.hashNumber(value)
    else this.hashConstant(value === null ? NULL : value ? TRUE : FALSE)
  }

  /**
   * Each step can be undone; and for any `a` each `b` has a short hash of its own.
   * @param {number} a
   * @param {number} b
   */
  #finish (a, b) {
    a = Math.imul(a ^ a >>> 16, P2)
    b = Math.imul(b ^ b >>> 16, P3)
    a = a + (b ^ b >>> 13) | 0
    b = b ^ Math.imul(a ^ a >>> 15, P1)
    this.low = a >>> 0
    this.high = b >>> 0
    let mixed = Math.imul(a ^ a >>> 13, P3) ^ Math.imul(b ^ b >>> 16, P2)
    mixed = Math.imul(mixed ^ mixed >>> 15, P1)
    this.short = ((mixed ^ mixed >>> 16) & this.#mask) >>> 0
  }
}

/**
 * Writes a text where short ones are. A call of `write` takes longer than to write a dozen characters.
 * @param {string} text
 * @returns {number}  its size
 */
function writeShort (text) {
  const { length } = text
  if (length > KEY_TEXT_MAX) return shortText.write(text)
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) return shortText.write(text)
    shortText[at] = code
  }
  return length
}

/** @returns {Buffer} */
function createKey () {
  return randomBytes(KEY_SIZE)
}

exports.TRUE = TRUE
exports.FALSE = FALSE
exports.NULL = NULL
exports.KEY_SIZE = KEY_SIZE
exports.Hasher = Hasher
exports.createKey = createKey
