'use strict'
// The keys of a record in JSON, from its bytes: one pass, which checks the grammar and makes no values but those at the
// declared paths. A text that is no JSON, or that has a declared key twice, is told as odd: an odd record is a
// candidate of every query, so the filter itself decides. Of many records at once a kernel scans those that are usual.

const { isUtf8 } = require('node:buffer')
const { FALSE, NULL, TRUE } = require('./hash')
const { CONSTANTS, NUMBER, OBJECT, OTHER_TEXT, createScanner } = require('./scanner')
const { addConstant, addNumber, addTime } = require('./value-keys')

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {import('./paths').Node} Node
 * @typedef {import('./block').KeySink} KeySink
 */

const [QUOTE, BACKSLASH, COMMA, COLON, MINUS, PLUS, DOT] = Buffer.from('"\\,:-+.')
const [BRACE, BRACE_END, BRACKET, BRACKET_END, ZERO, NINE, E, SMALL_E, U] = Buffer.from('{}[]09Eeu')
const [SPACE, TAB, LINE, RETURN] = Buffer.from(' \t\n\r')
const [T, F, N] = Buffer.from('tfn')
const [TRUE_TEXT, FALSE_TEXT, NULL_TEXT] = ['true', 'false', 'null'].map((text) => Buffer.from(text))
/** What may follow a backslash, but for u. */
const ESCAPES = new Set(Buffer.from('"\\/bfnrt'))
const HIGH_BITS = 0x80808080
/** Deeper texts are odd: the stack is bounded. */
const DEPTH_MAX = 1000
/** Whole numbers of so many digits are exact, however they are added up. */
const EXACT_DIGITS = 15
const WORD_SIZE = 4

/** Made once: where it is thrown tells nothing. */
const INVALID = new Error('no JSON text')

/** Scans records one after the other. */
class JsonKeys {
  #root
  #hasher
  /** Of many records. */
  scanner
  /** @type {Buffer} */
  #buf = Buffer.alloc(0)
  /** @type {DataView} */
  #words = new DataView(new ArrayBuffer(0))
  #at = 0
  #end = 0
  #depth = 0
  // Of the last string: where it ends, and whether its bytes are its text.
  #stringEnd = 0
  #isEscaped = false
  #isAscii = true
  #objectId = 0
  #isOdd = false
  /** @type {KeySink | null} */
  #block = null

  /** @param {Node} root  of the declared paths @param {Hasher} hasher */
  constructor (root, hasher) {
    this.#root = root
    this.#hasher = hasher
    this.scanner = createScanner(root, hasher, false, this)
  }

  /** @type {import('./scanner').SlowKeys['addFound']} */
  addFound (buf, words, node, kind, start, end, block) {
    this.#buf = buf
    this.#words = words
    // Of a text, also its quote.
    this.#end = kind === OTHER_TEXT ? end + 1 : end
    this.#block = block
    this.#at = start
    if (kind === OTHER_TEXT) {
      this.#scanString(start)
      this.#addText(node, start, this.#stringEnd)
    } else if (kind === NUMBER) {
      addNumber(node, this.#scanNumber(), this.#hasher, block)
    } else if (kind === OBJECT) {
      this.#at = end
      this.#addObjectTime(node, start)
    } else {
      addConstant(node.slots, CONSTANTS[kind], this.#hasher, block)
    }
  }

  /**
   * Notes the keys of a record in a block.
   * @param {Buffer} buf
   * @param {DataView} words  of the same bytes
   * @param {number} start
   * @param {number} end
   * @param {KeySink} block
   * @param {Buffer} [record]  the same bytes alone
   */
  add (buf, words, start, end, block, record) {
    if (record !== undefined && this.scanner?.addAlone(record, buf, words, start, block)) return
    this.#buf = buf
    this.#words = words
    this.#at = start
    this.#end = end
    this.#block = block
    this.#depth = 0
    this.#isOdd = false
    try {
      this.#skipSpace()
      this.#scanValue(this.#root)
      this.#skipSpace()
      if (this.#at !== end) throw INVALID
    } catch (err) {
      if (err !== INVALID) throw err
      this.#isOdd = true
    }
    if (this.#isOdd) block.addOdd()
  }

  /** Gives the byte there; -1 at the end. */
  #peek () {
    return this.#at < this.#end ? this.#buf[this.#at] : -1
  }

  #skipSpace () {
    for (; this.#at < this.#end; this.#at++) {
      const byte = this.#buf[this.#at]
      if (byte > SPACE || (byte !== SPACE && byte !== LINE && byte !== RETURN && byte !== TAB)) return
    }
  }

  /** @param {Node | null} node  null if nothing in it is needed */
  // eslint-disable-next-line complexity -- the hot loop of the scan
  #scanValue (node) {
    const start = this.#at
    const byte = this.#peek()
    if (byte === QUOTE) {
      this.#scanString(start + 1)
      if (node !== null && node.slots.length > 0) this.#addText(node, start + 1, this.#stringEnd)
    } else if (byte === BRACE || byte === BRACKET) {
      if (++this.#depth > DEPTH_MAX) throw INVALID
      if (byte === BRACE) this.#scanObject(node)
      else this.#scanArray(node)
      this.#depth--
      if (node !== null && node.hasRange && byte === BRACE) this.#addObjectTime(node, start)
    } else if (byte === MINUS || (byte >= ZERO && byte <= NINE)) {
      const value = this.#scanNumber()
      if (node !== null && node.slots.length > 0) addNumber(node, value, this.#hasher, this.#target)
    } else {
      const kind = this.#scanConstant(byte)
      if (node !== null && node.slots.length > 0) addConstant(node.slots, kind, this.#hasher, this.#target)
    }
  }

  get #target () {
    return /** @type {KeySink} */ (this.#block)
  }

  /** @param {Node | null} node */
  #scanObject (node) {
    const objectId = ++this.#objectId
    const isWanted = node !== null && node.keys.length > 0
    this.#at++
    this.#skipSpace()
    if (this.#peek() === BRACE_END) {
      this.#at++
      return
    }
    while (true) {
      if (this.#peek() !== QUOTE) throw INVALID
      const start = this.#at + 1
      this.#scanString(start)
      const child = isWanted ? this.#findKey(/** @type {Node} */ (node), start, objectId) : null
      this.#skipSpace()
      if (this.#peek() !== COLON) throw INVALID
      this.#at++
      this.#skipSpace()
      this.#scanValue(child)
      this.#skipSpace()
      const byte = this.#peek()
      this.#at++
      if (byte === BRACE_END) return
      if (byte !== COMMA) throw INVALID
      this.#skipSpace()
    }
  }

  /** @param {Node | null} node */
  #scanArray (node) {
    this.#at++
    this.#skipSpace()
    if (this.#peek() === BRACKET_END) {
      this.#at++
      return
    }
    const isWanted = node !== null && (node.each !== null || node.indexes.length > 0)
    for (let index = 0; ; index++) {
      if (isWanted) this.#scanElement(/** @type {Node} */ (node), index)
      else this.#scanValue(null)
      this.#skipSpace()
      const byte = this.#peek()
      this.#at++
      if (byte === BRACKET_END) return
      if (byte !== COMMA) throw INVALID
      this.#skipSpace()
    }
  }

  /** An element may be on two ways: that of its index, and that of all. @param {Node} node @param {number} index */
  #scanElement ({ each, indexes }, index) {
    const start = this.#at
    const found = indexes.find((entry) => entry.index === index)
    if (found !== undefined && each !== null) {
      this.#scanValue(found.child)
      this.#at = start
    }
    this.#scanValue(each ?? found?.child ?? null)
  }

  /** @param {Node} node @param {number} start  of the text of the key @param {number} objectId */
  #findKey (node, start, objectId) {
    const size = this.#stringEnd - start
    const buf = this.#buf
    const text = this.#isEscaped ? this.#readText(start, this.#stringEnd) : ''
    for (const entry of node.keys) {
      if (this.#isEscaped) {
        if (entry.text !== text) continue
      } else {
        const { bytes } = entry
        if (bytes.length !== size) continue
        let at = 0
        while (at < size && buf[start + at] === bytes[at]) at++
        if (at < size) continue
      }
      // The last one counts, and the keys of the first one are noted already.
      if (entry.objectId === objectId) this.#isOdd = true
      entry.objectId = objectId
      return entry.child
    }
    return null
  }

  /**
   * Four bytes at a time, until one of them is a quote, a backslash or no character.
   * @param {number} at  after the quote
   */
  #scanString (at) {
    const buf = this.#buf
    const words = this.#words
    const end = this.#end
    const last = end - WORD_SIZE
    let bits = 0
    this.#isEscaped = false
    while (true) {
      while (at <= last) {
        const word = words.getInt32(at, true)
        const quote = word ^ 0x22222222
        const backslash = word ^ 0x5c5c5c5c
        const found = ((word - 0x20202020) & ~word) | ((quote - 0x01010101) & ~quote) |
          ((backslash - 0x01010101) & ~backslash)
        if ((found & HIGH_BITS) !== 0) break
        bits |= word
        at += WORD_SIZE
      }
      if (at >= end) throw INVALID
      const byte = buf[at]
      if (byte === QUOTE) break
      if (byte < SPACE) throw INVALID
      if (byte === BACKSLASH) {
        at = this.#skipEscape(at)
      } else {
        bits |= byte
        at++
      }
    }
    this.#isAscii = (bits & HIGH_BITS) === 0
    this.#stringEnd = at
    this.#at = at + 1
  }

  /** @param {number} at  of the backslash */
  #skipEscape (at) {
    const buf = this.#buf
    this.#isEscaped = true
    if (at + 1 >= this.#end) throw INVALID
    if (buf[at + 1] !== U) {
      if (!ESCAPES.has(buf[at + 1])) throw INVALID
      return at + 2
    }
    if (at + 6 > this.#end) throw INVALID
    for (let index = at + 2; index < at + 6; index++) if (!isHexDigit(buf[index])) throw INVALID
    return at + 6
  }

  /** Of the string whose text is between two places. @type {(start: number, end: number) => string} */
  #readText (start, end) {
    return JSON.parse(`"${this.#buf.toString('utf8', start, end)}"`)
  }

  /** @type {(node: Node, start: number, end: number) => void} */
  #addText ({ slots, hasRange }, start, end) {
    const hasher = this.#hasher
    // Invalid UTF-8 is read as U+FFFD.
    const isPlain = !this.#isEscaped && (this.#isAscii || isUtf8(this.#buf.subarray(start, end)))
    const text = isPlain && !hasRange ? '' : this.#readText(start, end)
    if (isPlain) hasher.hashBytes(this.#words, this.#buf, start, end)
    else hasher.hashText(text)
    this.#target.addKey(slots, hasher)
    if (hasRange) addTime(slots, text, this.#target)
  }

  /** @param {Node} node @param {number} start */
  #addObjectTime ({ slots }, start) {
    addTime(slots, JSON.parse(this.#buf.toString('utf8', start, this.#at)), this.#target)
  }

  /** Checks the grammar. @returns {number} */
  // eslint-disable-next-line complexity -- numbers are nearly always short and whole
  #scanNumber () {
    const buf = this.#buf
    const end = this.#end
    const start = this.#at
    let at = start
    if (buf[at] === MINUS) at++
    const first = at
    let whole = 0
    for (; at < end && buf[at] >= ZERO && buf[at] <= NINE; at++) whole = whole * 10 + buf[at] - ZERO
    if (at === first || (at > first + 1 && buf[first] === ZERO)) throw INVALID
    let isWhole = at - first <= EXACT_DIGITS
    if (at < end && buf[at] === DOT) {
      isWhole = false
      at = this.#skipDigits(at + 1)
    }
    if (at < end && (buf[at] === E || buf[at] === SMALL_E)) {
      isWhole = false
      const hasSign = at + 1 < end && (buf[at + 1] === MINUS || buf[at + 1] === PLUS)
      at = this.#skipDigits(at + (hasSign ? 2 : 1))
    }
    this.#at = at
    return isWhole ? (first > start ? -whole : whole) : Number(buf.toString('latin1', start, at))
  }

  /** At least one. @param {number} at @returns {number} */
  #skipDigits (at) {
    const start = at
    while (at < this.#end && this.#buf[at] >= ZERO && this.#buf[at] <= NINE) at++
    if (at === start) throw INVALID
    return at
  }

  /** @param {number} byte  the first one */
  #scanConstant (byte) {
    const [text, kind] = byte === T ? [TRUE_TEXT, TRUE] : byte === F ? [FALSE_TEXT, FALSE] : [NULL_TEXT, NULL]
    if (byte !== T && byte !== F && byte !== N) throw INVALID
    if (this.#at + text.length > this.#end) throw INVALID
    for (let index = 0; index < text.length; index++) if (this.#buf[this.#at + index] !== text[index]) throw INVALID
    this.#at += text.length
    return kind
  }
}

/** @param {number} byte */
function isHexDigit (byte) {
  return (byte >= ZERO && byte <= NINE) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}

exports.JsonKeys = JsonKeys
