'use strict'
// Reads the parts of a protobuf message, in bytes that anybody may have made: nothing is read beyond the end of the
// message at hand, and the number of messages and their nesting are bounded.

const { isAscii } = require('node:buffer')
const { LogError } = require('@millrace/errors')
const { WIRE } = require('./fields')
const { tooManyParts } = require('./log-record')

/** So many messages take some hundred ms. An attribute is two. */
const MESSAGE_COUNT_MAX = 2_000_000
/** Groups, which no message of OTLP has. */
const GROUP_DEPTH_MAX = 32
const FIELD_BITS = 3
const UINT32 = 2 ** 32

class ProtobufReader {
  at = 0
  /** Bytes of the request before these. */
  offset = 0
  /** Of the number that was read last: its lower and its upper 32 bits, unsigned. */
  low = 0
  high = 0
  /**
   * The bytes as characters: a part of it costs less than decoding bytes, and is the same if they are ASCII.
   * @type {string | null}
   */
  #characters = null
  #isAllAscii = false

  /** @param {Uint8Array} bytes */
  constructor (bytes) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.end = bytes.length
    this.messagesLeft = MESSAGE_COUNT_MAX
  }

  /** Reads a number of up to 64 bits into `low` and `high`. @param {number} end */
  readVarint (end) {
    const { bytes } = this
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.at >= end) throw this.wrong('a number is cut off')
      const byte = bytes[this.at++]
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << shift
        high = bits >>> 4
      } else high |= bits << (shift - 32)
      if (byte >= 0x80) continue
      this.low = low >>> 0
      this.high = high >>> 0
      return
    }
    throw this.wrong('a number has more than ten bytes')
  }

  /** The field and the wire type of what comes next. @param {number} end */
  readTag (end) {
    const first = this.bytes[this.at]
    if (first < 0x80 && first >= 1 << FIELD_BITS) {
      this.at++
      return first
    }
    this.readVarint(end)
    if (this.high !== 0 || this.low < 1 << FIELD_BITS) throw this.wrong('no field has this number')
    return this.low
  }

  /**
   * Whether this field comes next. Its tag, of one byte, has then been read.
   * @type {(tag: number, end: number) => boolean}
   */
  readIfTag (tag, end) {
    if (this.at >= end || this.bytes[this.at] !== tag) return false
    this.at++
    return true
  }

  /** A number of 32 bits; more bits are dropped, as protobuf says. @param {number} end */
  readUint32 (end) {
    this.readVarint(end)
    return this.low
  }

  /** @param {number} end */
  readBool (end) {
    this.readVarint(end)
    return this.low !== 0 || this.high !== 0
  }

  /** @param {number} end */
  readFixed32 (end) {
    return this.bytes.readUInt32LE(this.#pass(4, end))
  }

  /** Into `low` and `high`. @param {number} end */
  readFixed64 (end) {
    const at = this.#pass(8, end)
    this.low = this.bytes.readUInt32LE(at)
    this.high = this.bytes.readUInt32LE(at + 4)
  }

  /** @param {number} end */
  readDouble (end) {
    return this.bytes.readDoubleLE(this.#pass(8, end))
  }

  /** Text; bytes that are no UTF-8 become U+FFFD. @param {number} end */
  readText (end) {
    const from = this.readSized(end)
    const to = this.at
    if (this.#characters === null) {
      this.#characters = this.bytes.toString('latin1')
      this.#isAllAscii = isAscii(this.bytes)
    }
    const isPlain = this.#isAllAscii || this.#isAscii(from, to)
    return isPlain ? this.#characters.slice(from, to) : this.bytes.toString('utf8', from, to)
  }

  /** @type {(from: number, to: number) => boolean} */
  #isAscii (from, to) {
    for (let at = from; at < to; at++) if (this.bytes[at] >= 0x80) return false
    return true
  }

  /** @param {number} end @returns {Buffer} the same memory */
  readBytes (end) {
    const from = this.readSized(end)
    return this.bytes.subarray(from, this.at)
  }

  /**
   * The same as hex digits; empty if there are more bytes than expected.
   * @type {(end: number, sizeMax: number) => string}
   */
  readHex (end, sizeMax) {
    const from = this.readSized(end)
    return this.at - from > sizeMax ? '' : this.bytes.toString('hex', from, this.at)
  }

  /** Begins to read a message inside of one. @param {number} end @returns {number} where it ends */
  enter (end) {
    if (--this.messagesLeft < 0) throw tooManyParts()
    const from = this.readSized(end)
    const to = this.at
    this.at = from
    return to
  }

  /** Text, bytes or a message. @param {number} end @returns {number} where its bytes begin; `at` is after them */
  readSized (end) {
    this.readVarint(end)
    const { at } = this
    if (this.high !== 0 || this.low > end - at) {
      throw this.wrong(`a part has ${this.high * UINT32 + this.low} bytes, and ${end - at} are left`)
    }
    this.at = at + this.low
    return at
  }

  /** @type {(size: number, end: number) => number} */
  #pass (size, end) {
    const { at } = this
    if (size > end - at) throw this.wrong(`a number of ${size} bytes is cut off`)
    this.at = at + size
    return at
  }

  /**
   * Passes a field that is unknown.
   * @param {number} tag
   * @param {number} end
   * @param {number} known  the fields of the message, a bit for each: one of these has the wrong wire type
   * @param {number} [depth]  of groups
   */
  skip (tag, end, known, depth = 0) {
    const field = tag >>> FIELD_BITS
    const wire = tag & (1 << FIELD_BITS) - 1
    if (field < 32 && known >>> field & 1) throw this.wrong(`field ${field} has the wire type ${wire}`)
    if (wire === WIRE.varint) this.readVarint(end)
    else if (wire === WIRE.fixed64) this.#pass(8, end)
    else if (wire === WIRE.sized) this.readSized(end)
    else if (wire === WIRE.fixed32) this.#pass(4, end)
    else if (wire === WIRE.groupBegin && depth < GROUP_DEPTH_MAX) this.#skipGroup(field, end, depth + 1)
    else throw this.wrong(`field ${field} has the wire type ${wire}`)
  }

  /** @type {(field: number, end: number, depth: number) => void} */
  #skipGroup (field, end, depth) {
    while (this.at < end) {
      const tag = this.readTag(end)
      if (tag === (field << FIELD_BITS | WIRE.groupEnd) >>> 0) return
      this.skip(tag, end, 0, depth)
    }
    throw this.wrong(`the group of field ${field} is cut off`)
  }

  /** @param {string} what */
  wrong (what) {
    const offset = this.offset + this.at
    return new LogError('ERR_CODEC_DECODE', `the request is no protobuf of OTLP logs: ${what}, at byte ${offset}`, { offset })
  }
}

exports.FIELD_BITS = FIELD_BITS
exports.GROUP_DEPTH_MAX = GROUP_DEPTH_MAX
exports.ProtobufReader = ProtobufReader
