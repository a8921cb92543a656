'use strict'
// The keys of a record in the binary format, from its bytes: one pass for all paths, which steps over whatever no path
// leads into. docs/internals/binary-format.md describes the format. A record whose tags lead out of what holds them is
// told as odd: an odd record is a candidate of every query, so the filter itself decides.

const { isUtf8 } = require('node:buffer')
const { decode, types } = require('@millrace/binary-codec')
const { FALSE, NULL, TRUE } = require('./hash')
const { CONSTANTS, DOUBLE, INT, OTHER_TEXT, createScanner } = require('./scanner')
const { addConstant, addNumber, addTime } = require('./value-keys')

/**
 * @typedef {import('./hash').Hasher} Hasher
 * @typedef {import('./paths').Node} Node
 * @typedef {import('./block').KeySink} KeySink
 */

const TYPE_BITS = 3
const TYPE_MASK = 7
const TAG_SIZE_MAX = 5
const TAG_LAST_BYTE_MAX = 7
const INT_TAG = 4 << TYPE_BITS | types.int
const DOUBLE_TAG = 8 << TYPE_BITS | types.double
const BOOLEAN_TAG = 1 << TYPE_BITS | types.boolnull
const NULL_TAG = types.boolnull

/** Made once: where it is thrown tells nothing. */
const DAMAGED = new Error('no binary record')

/** Walks through records one after the other. */
class BinaryKeys {
  #root
  #hasher
  /** Of many records. */
  scanner
  /** @type {Buffer} */
  #buf = Buffer.alloc(0)
  /** @type {DataView} */
  #words = new DataView(new ArrayBuffer(0))
  /** Where the payload of the last tag begins. */
  #payload = 0
  #objectId = 0
  /** @type {KeySink | null} */
  #block = null

  /** @param {Node} root  of the declared paths @param {Hasher} hasher */
  constructor (root, hasher) {
    this.#root = root
    this.#hasher = hasher
    this.scanner = createScanner(root, hasher, true, this)
  }

  /** @type {import('./scanner').SlowKeys['addFound']} */
  addFound (buf, words, node, kind, start, end, block) {
    this.#buf = buf
    this.#words = words
    this.#block = block
    if (kind === OTHER_TEXT) this.#addText(node, start, end)
    else if (kind === INT) addNumber(node, words.getInt32(start, true), this.#hasher, block)
    else if (kind === DOUBLE) addNumber(node, words.getFloat64(start, true), this.#hasher, block)
    else addConstant(node.slots, CONSTANTS[kind], this.#hasher, block)
  }

  /**
   * Notes the keys of a record in a block.
   * @param {Buffer} buf
   * @param {DataView} words  of the same bytes
   * @param {number} start
   * @param {number} end
   * @param {KeySink} block
   */
  add (buf, words, start, end, block) {
    this.#buf = buf
    this.#words = words
    this.#block = block
    try {
      this.#walk(this.#root, start, end)
    } catch (err) {
      if (err !== DAMAGED) throw err
      block.addOdd()
    }
  }

  /**
   * @param {Node} node
   * @param {number} start  of a tag
   * @param {number} limit  the end of what holds the value
   */
  #walk (node, start, limit) {
    const tag = this.#readTag(start, limit)
    const at = this.#payload
    const end = at + (tag >> TYPE_BITS)
    if (end > limit) throw DAMAGED
    if (node.slots.length > 0) this.#addValue(node, tag, start, at, end)
    const type = tag & TYPE_MASK
    if (type === types.object && node.keys.length > 0) this.#walkObject(node, at, end)
    else if (type === types.array && (node.each !== null || node.indexes.length > 0)) this.#walkArray(node, at, end)
  }

  /** @type {(node: Node, at: number, end: number) => void} */
  #walkObject (node, at, end) {
    const buf = this.#buf
    const { keys } = node
    const objectId = ++this.#objectId
    let left = keys.length
    while (at < end) {
      // Nearly all tags of keys have one byte.
      let keyTag = buf[at]
      let key = at + 1
      if (keyTag >= 0x80) {
        keyTag = this.#readLongTag(at, end)
        key = this.#payload
      }
      const size = keyTag >> TYPE_BITS
      const valueStart = key + size
      if ((keyTag & TYPE_MASK) !== types.string || valueStart >= end) throw DAMAGED
      for (let index = 0; index < keys.length; index++) {
        const entry = keys[index]
        const { bytes, child } = entry
        if (bytes.length !== size || !startsWith(buf, key, bytes)) continue
        // A filter finds the first one; and other keys, which may come after both.
        if (entry.objectId === objectId) throw DAMAGED
        entry.objectId = objectId
        this.#walk(child, valueStart, end)
        if (--left === 0) return
      }
      at = this.#skip(valueStart, end)
    }
  }

  /** @type {(node: Node, at: number, end: number) => void} */
  #walkArray ({ each, indexes }, at, end) {
    for (let index = 0; at < end; index++) {
      const next = this.#skip(at, end)
      for (const entry of indexes) if (entry.index === index) this.#walk(entry.child, at, end)
      if (each !== null) this.#walk(each, at, next)
      at = next
    }
  }

  /** Gives the place after the value. @type {(start: number, limit: number) => number} */
  #skip (start, limit) {
    const tag = this.#readTag(start, limit)
    const end = this.#payload + (tag >> TYPE_BITS)
    if (end > limit) throw DAMAGED
    return end
  }

  /** @type {(start: number, limit: number) => number} */
  #readTag (start, limit) {
    if (start >= limit) throw DAMAGED
    const byte = this.#buf[start]
    if (byte >= 0x80) return this.#readLongTag(start, limit)
    this.#payload = start + 1
    return byte
  }

  /** @type {(start: number, limit: number) => number} */
  #readLongTag (start, limit) {
    let tag = 0
    for (let index = 0; index < TAG_SIZE_MAX && start + index < limit; index++) {
      const byte = this.#buf[start + index]
      if (index === TAG_SIZE_MAX - 1 && byte > TAG_LAST_BYTE_MAX) break
      tag |= (byte & 0x7f) << 7 * index
      if (byte >= 0x80) continue
      // With a zero it is longer than it needs to be.
      if (byte === 0) break
      this.#payload = start + index + 1
      return tag
    }
    throw DAMAGED
  }

  /**
   * A scalar of a wrong size has no key: no filter holds for it.
   * @type {(node: Node, tag: number, start: number, at: number, end: number) => void}
   */
  #addValue (node, tag, start, at, end) {
    const buf = this.#buf
    const words = this.#words
    const hasher = this.#hasher
    const block = /** @type {KeySink} */ (this.#block)
    const { slots, hasRange } = node
    switch (tag & TYPE_MASK) {
      case types.string:
        this.#addText(node, at, end)
        break
      case types.int:
        if (tag === INT_TAG) addNumber(node, words.getInt32(at, true), hasher, block)
        break
      case types.double:
        if (tag === DOUBLE_TAG) addNumber(node, words.getFloat64(at, true), hasher, block)
        break
      case types.boolnull:
        if (tag === NULL_TAG) addConstant(slots, NULL, hasher, block)
        else if (tag === BOOLEAN_TAG && buf[at] <= 1) addConstant(slots, buf[at] === 1 ? TRUE : FALSE, hasher, block)
        break
      case types.array: break
      default: if (hasRange) this.#addDecodedTime(slots, start)
    }
  }

  /** @type {(node: Node, start: number, end: number) => void} */
  #addText ({ slots, hasRange }, start, end) {
    const buf = this.#buf
    const hasher = this.#hasher
    const block = /** @type {KeySink} */ (this.#block)
    hasher.hashBytes(this.#words, buf, start, end)
    // Invalid UTF-8 is read as U+FFFD.
    const isPlain = hasher.isAscii || isUtf8(buf.subarray(start, end))
    if (!isPlain) hasher.hashText(buf.toString('utf8', start, end))
    block.addKey(slots, hasher)
    if (hasRange) addTime(slots, buf.toString('utf8', start, end), block)
  }

  /** @type {(slots: number[], start: number) => void} */
  #addDecodedTime (slots, start) {
    let value
    try {
      value = decode(this.#buf, start)
    } catch {
      throw DAMAGED
    }
    addTime(slots, value, /** @type {KeySink} */ (this.#block))
  }
}

/** @type {(buf: Uint8Array, start: number, bytes: Uint8Array) => boolean} */
function startsWith (buf, start, bytes) {
  for (let index = 0; index < bytes.length; index++) if (buf[start + index] !== bytes[index]) return false
  return true
}

exports.BinaryKeys = BinaryKeys
