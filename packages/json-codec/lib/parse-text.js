'use strict'
// JSON.parse, but right on engines that mistake keys. V8 from 13.6 on (Node.js 24 and 26) compares a key with the one
// that objects of the same shape had before, without regard to escapes: once an object with the key `\` was parsed, the
// text {"\n":1} may give {"\\":1}. Only texts with an escape in a key are concerned; there are few.

const HAS_ESCAPED_KEY = /\\.[^"\\]*"\s*:/s
const SPACE = /\s*/y
const STRING = /"(?:[^"\\]|\\.)*"/ys
const SCALAR = /[^\s,\]}]+/y

// No other object begins with this key, so no other text is mistaken for it afterwards.
const PROBE = '{"millrace: does the engine mistake keys?":1,"key'
JSON.parse(`${PROBE}\\\\":1}`)
const mistakesKeys = Object.keys(JSON.parse(`${PROBE}\\n":1}`))[1] !== 'key\n'

/**
 * Gives `JSON.parse(text)`, but is also correct on versions of Node.js whose JSON.parse mistakes one key for another.
 * @param {string} text
 * @returns {any}
 * @throws {SyntaxError} what JSON.parse throws
 */
function parseText (text) {
  const value = JSON.parse(text)
  if (!mistakesKeys || !text.includes('\\') || !HAS_ESCAPED_KEY.test(text)) return value
  return new ValidText(text).readValue()
}

/** Reads a text that JSON.parse has accepted, so it checks nothing: it only finds where each part begins and ends. */
class ValidText {
  /** @param {string} text */
  constructor (text) {
    this._text = text
    this._at = 0
  }

  /** @returns {any} */
  readValue () {
    this._skip()
    const first = this._text[this._at]
    if (first === '{') return this._readObject()
    if (first === '[') return this._readArray()
    return JSON.parse(this._match(first === '"' ? STRING : SCALAR))
  }

  _readObject () {
    /** @type {Record<string, any>} */
    const object = {}
    this._readItems('}', () => {
      const key = JSON.parse(this._match(STRING))
      this._skip()
      this._at++ // the colon
      // Assigning to __proto__ would set the prototype.
      const value = this.readValue()
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
    })
    return object
  }

  _readArray () {
    /** @type {any[]} */
    const array = []
    this._readItems(']', () => array.push(this.readValue()))
    return array
  }

  /**
   * @param {string} end  the bracket that closes
   * @param {() => void} readItem
   */
  _readItems (end, readItem) {
    this._at++ // the bracket that opens
    this._skip()
    while (this._text[this._at] !== end) {
      readItem()
      this._skip()
      if (this._text[this._at] !== ',') continue
      this._at++
      this._skip()
    }
    this._at++
  }

  _skip () {
    this._match(SPACE)
  }

  /**
   * @param {RegExp} pattern  sticky
   * @returns {string}
   */
  _match (pattern) {
    pattern.lastIndex = this._at
    const [found] = /** @type {RegExpExecArray} */ (pattern.exec(this._text))
    this._at += found.length
    return found
  }
}

exports.ValidText = ValidText
exports.parseText = parseText
