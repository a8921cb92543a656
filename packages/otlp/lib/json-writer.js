'use strict'
// JSON text as bytes, in a buffer that grows. What comes as UTF-8 goes into it without becoming a string.

const { copyBytes } = require('@millrace/flow')
const { NANOSECOND_DIGITS, showSeconds } = require('./log-record')

const FIRST_SIZE = 64 * 1024
/** A buffer up to this size is kept for the next request. */
const KEPT_SIZE = 1024 * 1024
const [QUOTE, COLON, COMMA, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = Buffer.from('":,{}[]')
const FIRST_PRINTABLE = 0x20
const FIRST_BEYOND_ASCII = 0x80
const BACKSLASH = 0x5c
const BASE64_GROWTH = 4 / 3

/** 1 for bytes that stand for themselves in a JSON string. */
const IS_PLAIN = new Uint8Array(256).map((_, byte) => {
  return Number(byte >= FIRST_PRINTABLE && byte < FIRST_BEYOND_ASCII && byte !== QUOTE && byte !== BACKSLASH)
})
const HEX = Buffer.from('0123456789abcdef')
const [ZERO, LETTER_Z] = Buffer.from('0Z')

class JsonWriter {
  /** What was written is before `at`. */
  at = 0
  bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  /** The time that was written last, up to its seconds. */
  #timeText = ''
  #timeBytes = Buffer.alloc(0)

  /** Begins anew. */
  clear () {
    this.at = 0
    if (this.bytes.length > KEPT_SIZE) this.bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  }

  openObject () {
    this.#put(OPEN_BRACE)
  }

  /** A comma before the end goes. */
  closeObject () {
    this.#close(CLOSE_BRACE)
  }

  openArray () {
    this.#put(OPEN_BRACKET)
  }

  closeArray () {
    this.#close(CLOSE_BRACKET)
  }

  colon () {
    this.#put(COLON)
  }

  comma () {
    this.#put(COMMA)
  }

  /** @param {Uint8Array} bytes  JSON text */
  raw (bytes) {
    this.#copy(bytes, 0, bytes.length)
  }

  /** A part of bytes that is JSON text. @type {(from: Uint8Array, begin: number, end: number) => void} */
  rawPart (from, begin, end) {
    this.#copy(from, begin, end)
  }

  /** @param {string} text  JSON text of any length and any characters */
  rawText (text) {
    this.#reserve(3 * text.length)
    this.at += this.bytes.write(text, this.at)
  }

  /** The members of an object, each with a comma after it. @param {string} object  JSON text */
  members (object) {
    if (object === '{}') return
    this.rawText(object.slice(1, -1))
    this.comma()
  }

  /** A number or a word of ASCII. @param {string} text */
  word (text) {
    this.#reserve(text.length)
    const { bytes, at } = this
    for (let index = 0; index < text.length; index++) bytes[at + index] = text.charCodeAt(index)
    this.at = at + text.length
  }

  /** The same in quotes. @param {string} text  without quotes and backslashes */
  quotedWord (text) {
    this.#put(QUOTE)
    this.word(text)
    this.#put(QUOTE)
  }

  /** @param {number | string} value  a text without quotes and backslashes */
  scalar (value) {
    if (typeof value === 'number') this.word(String(value))
    else this.quotedWord(value)
  }

  /** A string of JSON, of bytes that need no escapes. @type {(from: Uint8Array, begin: number, end: number) => void} */
  literal (from, begin, end) {
    this.#put(QUOTE)
    this.#copy(from, begin, end)
    this.#put(QUOTE)
  }

  /**
   * A string of JSON from UTF-8; what is no UTF-8 becomes U+FFFD.
   * @type {(from: Buffer, begin: number, end: number) => void}
   */
  string (from, begin, end) {
    this.#reserve(end - begin + 2)
    const { bytes } = this
    let { at } = this
    bytes[at++] = QUOTE
    for (let index = begin; index < end; index++) {
      const byte = from[index]
      if (IS_PLAIN[byte] === 0) return this.rawText(JSON.stringify(from.toString('utf8', begin, end)))
      bytes[at++] = byte
    }
    bytes[at++] = QUOTE
    this.at = at
  }

  /** A time as readers show it. @type {(seconds: number, nanoseconds: number) => void} */
  time (seconds, nanoseconds) {
    const text = showSeconds(seconds)
    if (text !== this.#timeText) {
      this.#timeText = text
      this.#timeBytes = Buffer.from(`"${text}`)
    }
    this.#copy(this.#timeBytes, 0, this.#timeBytes.length)
    this.#reserve(NANOSECOND_DIGITS + 2)
    const { bytes, at } = this
    // As an integer: the rest of a division of doubles takes four times as long.
    for (let index = NANOSECOND_DIGITS - 1, rest = nanoseconds | 0; index >= 0; index--, rest = rest / 10 | 0) {
      bytes[at + index] = ZERO + rest % 10
    }
    bytes[at + NANOSECOND_DIGITS] = LETTER_Z
    bytes[at + NANOSECOND_DIGITS + 1] = QUOTE
    this.at = at + NANOSECOND_DIGITS + 2
  }

  /** A string of hex digits. @type {(from: Uint8Array, begin: number, end: number) => void} */
  hex (from, begin, end) {
    this.#reserve(2 * (end - begin) + 2)
    const { bytes } = this
    let { at } = this
    bytes[at++] = QUOTE
    for (let index = begin; index < end; index++) {
      bytes[at++] = HEX[from[index] >>> 4]
      bytes[at++] = HEX[from[index] & 0xf]
    }
    bytes[at++] = QUOTE
    this.at = at
  }

  /** A string of base64. @type {(from: Buffer, begin: number, end: number) => void} */
  base64 (from, begin, end) {
    this.#reserve((end - begin + 2) * BASE64_GROWTH + 2)
    this.#put(QUOTE)
    this.at += this.bytes.write(from.toString('base64', begin, end), this.at, 'latin1')
    this.#put(QUOTE)
  }

  /** @type {(from: Uint8Array, begin: number, end: number) => void} */
  #copy (from, begin, end) {
    this.#reserve(end - begin)
    this.at = copyBytes(from, begin, end, this.bytes, this.at)
  }

  /** @param {number} byte */
  #put (byte) {
    this.#reserve(1)
    this.bytes[this.at++] = byte
  }

  /** @param {number} byte */
  #close (byte) {
    if (this.bytes[this.at - 1] === COMMA) this.bytes[this.at - 1] = byte
    else this.#put(byte)
  }

  /** @param {number} size  bytes that come next */
  #reserve (size) {
    if (this.at + size <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(2 * (this.at + Math.ceil(size)))
    this.bytes.copy(grown, 0, 0, this.at)
    this.bytes = grown
  }
}

exports.JsonWriter = JsonWriter
