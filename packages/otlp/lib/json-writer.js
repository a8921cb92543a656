'use strict'
// JSON text as bytes, in a buffer that grows. What comes as UTF-8 goes into it without becoming a string.

const FIRST_SIZE = 64 * 1024
/** A buffer that a request of this size has left is kept for the next one. */
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

class JsonWriter {
  /** What was written is before `at`. */
  at = 0
  bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)

  /** Begins anew. */
  clear () {
    this.at = 0
    if (this.bytes.length > KEPT_SIZE) this.bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  }

  /** A copy of what was written. */
  take () {
    return Buffer.from(this.bytes.subarray(0, this.at))
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
    this.#reserve(bytes.length)
    const { bytes: to, at } = this
    for (let index = 0; index < bytes.length; index++) to[at + index] = bytes[index]
    this.at = at + bytes.length
  }

  /** @param {string} text  JSON text of any length and any characters */
  rawText (text) {
    this.#reserve(3 * text.length)
    this.at += this.bytes.write(text, this.at)
  }

  /** The members of an object, each with a comma behind it. @param {string} object  JSON text */
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
