'use strict'
// Goes through JSON in bytes, for a reader who knows what should come. At anything else it throws GIVEN_UP: that may be
// JSON all the same, and a parser must look.

const { JsonCheck } = require('@millrace/json-codec')
const { LONG_DIGITS, hasLongNumber } = require('./long-integers')

const [COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = Buffer.from(',:{}[]')
const [QUOTE, BACKSLASH, ZERO, SPACE, NEWLINE, RETURN, TAB] = Buffer.from('"\\0 \n\r\t')
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const NUMBER_LENGTH_MAX = 30
/** After a value. */
const IS_END = tableOf((byte) => [COMMA, CLOSE_BRACE, CLOSE_BRACKET].includes(byte))
const IS_NUMERIC = tableOf((byte) => '+-.0123456789Ee'.includes(String.fromCharCode(byte)))
const IS_DIGIT = tableOf((byte) => byte >= ZERO && byte < ZERO + 10)
const IS_SPACE = tableOf((byte) => [SPACE, NEWLINE, RETURN, TAB].includes(byte))
/** In a string it stands for itself. */
const IS_LITERAL = tableOf((byte) => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH)

/** @param {(byte: number) => boolean} isWanted */
function tableOf (isWanted) {
  return new Uint8Array(256).map((_, byte) => Number(isWanted(byte)))
}

/** The JSON has to be parsed. */
const GIVEN_UP = new Error('the JSON has to be parsed')

const check = new JsonCheck()

class JsonScanner {
  at = 0
  /** Where the string that was passed last begins and ends, without its quotes. */
  from = 0
  to = 0
  /** Whether that string has no escapes. */
  isLiteral = true

  /** @param {Buffer} bytes  UTF-8 */
  constructor (bytes) {
    this.bytes = bytes
  }

  #passSpace () {
    while (IS_SPACE[this.bytes[this.at]] === 1) this.at++
  }

  /** Whether this byte comes next, but for white space. It has then been passed. @param {number} byte */
  passIf (byte) {
    this.#passSpace()
    if (this.bytes[this.at] !== byte) return false
    this.at++
    return true
  }

  /** @param {number} byte */
  pass (byte) {
    if (!this.passIf(byte)) throw GIVEN_UP
  }

  /** A string. */
  passString () {
    this.pass(QUOTE)
    const { bytes } = this
    let { at } = this
    this.from = at
    this.isLiteral = true
    while (bytes[at] !== QUOTE) {
      if (IS_LITERAL[bytes[at]] === 1) at++
      else if (bytes[at] === BACKSLASH) {
        this.isLiteral = false
        at += 2
      } else throw GIVEN_UP
    }
    this.to = at
    this.at = at + 1
  }

  /** The name of a member. */
  passName () {
    this.passString()
    if (!this.isLiteral) throw GIVEN_UP
    this.pass(COLON)
  }

  /** White space to the end. */
  passEnd () {
    this.#passSpace()
    if (this.at !== this.bytes.length) throw GIVEN_UP
  }

  /** Whether this is the name that was passed last. @param {Uint8Array} name  in quotes, and a colon */
  isName (name) {
    const { bytes, from, to } = this
    if (to - from !== name.length - 3) return false
    for (let index = 1; index < name.length - 2; index++) if (bytes[from + index - 1] !== name[index]) return false
    return true
  }

  /** The string that was passed last. @returns {string} */
  text () {
    const { bytes, from, to } = this
    return this.isLiteral ? bytes.toString('utf8', from, to) : parse(bytes.toString('utf8', from - 1, to + 1))
  }

  /**
   * Whether this is the name of the member that comes next. It has then been passed.
   * @param {Uint8Array} name  with its quotes and a colon, as senders write it
   */
  passIfName (name) {
    const { bytes, at } = this
    for (let index = 0; index < name.length; index++) if (bytes[at + index] !== name[index]) return false
    this.at = at + name.length
    return true
  }

  /**
   * Whether a whole number of so many digits at most comes next, above 0. They are then between `from` and `to`.
   * @type {(digitsMax: number, mayBeString: boolean) => boolean}
   */
  passIfInteger (digitsMax, mayBeString) {
    const { bytes } = this
    let { at } = this
    const isString = bytes[at] === QUOTE
    if (isString && !mayBeString) return false
    const from = isString ? at + 1 : at
    at = from
    if (bytes[at] === ZERO) return false
    while (IS_DIGIT[bytes[at]] === 1) at++
    const isWhole = isString ? bytes[at] === QUOTE : IS_NUMERIC[bytes[at]] === 0
    if (!isWhole || at === from || at - from > digitsMax) return false
    this.from = from
    this.to = at
    this.at = isString ? at + 1 : at
    return true
  }

  /** A string or a number; a long integer as its digits. @returns {string | number} */
  takeScalar () {
    if (this.passIf(QUOTE)) {
      this.at--
      this.passString()
      return this.text()
    }
    const { bytes, at } = this
    while (IS_NUMERIC[bytes[this.at]] === 1) this.at++
    const text = bytes.toString('latin1', at, Math.min(this.at, at + NUMBER_LENGTH_MAX + 1))
    if (text.length > NUMBER_LENGTH_MAX || !NUMBER.test(text)) throw GIVEN_UP
    return text.length >= LONG_DIGITS && /^-?\d+$/.test(text) ? text : Number(text)
  }

  /** Any value. Nothing is built from it. */
  passValue () {
    this.#passSpace()
    check.begin()
    this.at = check.pass(this.bytes, this.at, this.bytes.length)
    if (!check.end()) throw GIVEN_UP
  }

  /** Any value, parsed. @returns {any} */
  takeValue () {
    this.#passSpace()
    const { bytes, at } = this
    let depth = 0
    while (depth > 0 || !IS_END[bytes[this.at]]) {
      const byte = bytes[this.at]
      if (byte === undefined) throw GIVEN_UP
      if (byte === QUOTE) this.passString()
      else {
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
        else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--
        this.at++
      }
    }
    const text = bytes.toString('utf8', at, this.at)
    if (hasLongNumber(text)) throw GIVEN_UP
    return parse(text)
  }
}

/** @param {string} text @returns {any} */
function parse (text) {
  try {
    return JSON.parse(text)
  } catch {
    throw GIVEN_UP
  }
}

exports.GIVEN_UP = GIVEN_UP
exports.JsonScanner = JsonScanner
exports.COMMA = COMMA
exports.OPEN_BRACE = OPEN_BRACE
exports.CLOSE_BRACE = CLOSE_BRACE
exports.OPEN_BRACKET = OPEN_BRACKET
exports.CLOSE_BRACKET = CLOSE_BRACKET
