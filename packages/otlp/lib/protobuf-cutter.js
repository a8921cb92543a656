'use strict'
// Cuts a logs request in protobuf into its parts while it arrives: each log record, and what stands beside them. Only
// one part at a time is gathered. Unknown fields are passed, and nothing is kept of them.

const { LogError } = require('@millrace/errors')
const { FIELDS, REQUEST, RESOURCE_LOGS, SCOPE_LOGS, WIRE } = require('./fields')
const { partTooLarge } = require('./log-record')
const { FIELD_BITS, GROUP_DEPTH_MAX } = require('./protobuf-reader')

const WIRE_MASK = (1 << FIELD_BITS) - 1
const UINT32 = 2 ** 32

/**
 * Messages inside one another: the tag of the next level in each, the tags of the parts that are wanted, and what they
 * are called.
 * @type {Array<{ inner: number, parts: Record<number, PartName>, known: number }>}
 */
const LEVELS = [
  { inner: REQUEST.resourceLogs, parts: {}, known: FIELDS.request },
  {
    inner: RESOURCE_LOGS.scopeLogs,
    parts: { [RESOURCE_LOGS.resource]: 'resource', [RESOURCE_LOGS.schemaUrl]: 'resource schema URL' },
    known: FIELDS.resourceLogs
  },
  {
    inner: 0,
    parts: {
      [SCOPE_LOGS.logRecords]: 'record', [SCOPE_LOGS.scope]: 'scope', [SCOPE_LOGS.schemaUrl]: 'scope schema URL'
    },
    known: FIELDS.scopeLogs
  }
]

// What comes next.
const TAG = 0
const NUMBER = 1
const SIZE = 2
const SKIPPED = 3
const PART = 4

/**
 * @typedef {'resource' | 'resource schema URL' | 'record' | 'scope' | 'scope schema URL'} PartName
 * @typedef {object} Sink
 * @property {(level: number) => void} open  resource logs (1) or scope logs (2) begin
 * @property {(level: number) => void} close  they have ended
 * @property {(name: PartName, bytes: Buffer, from: number, to: number, offset: number) => void} part  `offset`: of the
 *   bytes in the request
 * @property {() => void} tooLarge  a record is
 */

class ProtobufCutter {
  /** A part that came in pieces, and waits to be taken. @type {Buffer | null} */
  ready = null
  #readyOffset = 0
  #sink
  #sizeMax
  #place = TAG
  #level = 0
  /** Where the messages that are open end. */
  #ends = [Infinity, 0, 0]
  /** Bytes before the chunk. */
  #offset = 0
  /** The number at hand: its lower and its upper 32 bits, and how many bits it has so far. */
  #low = 0
  #high = 0
  #shift = 0
  /** Of the field at hand. */
  #tag = 0
  /** @type {PartName | null} */
  #part = null
  /** Bytes of it that are still to come. */
  #left = 0
  /** @type {Buffer | null} */
  #gathered = null
  /** Groups that are passed, one inside the other: an old kind of message that OTLP does not have. @type {number[]} */
  #groups = []

  /**
   * @param {Sink} sink
   * @param {number} sizeMax  bytes of a part
   */
  constructor (sink, sizeMax) {
    this.#sink = sink
    this.#sizeMax = sizeMax
  }

  /** Bytes that it holds. */
  get heldSize () {
    return (this.#gathered?.length ?? 0) + (this.ready?.length ?? 0)
  }

  /** @type {(chunk: Buffer, from: number) => number}  where to go on, once what is `ready` was taken */
  pass (chunk, from) {
    let at = from
    while (at < chunk.length && this.ready === null) at = this.#step(chunk, at)
    if (at === chunk.length) this.#offset += at
    return at
  }

  /** Takes what is ready. */
  take () {
    const bytes = /** @type {Buffer} */ (this.ready)
    this.ready = null
    this.#sink.part(/** @type {PartName} */ (this.#part), bytes, 0, bytes.length, this.#readyOffset)
  }

  /** No more comes. */
  end () {
    this.#closeMessages(this.#offset)
    if (this.#level > 0 || this.#place !== TAG || this.#shift > 0 || this.#groups.length > 0) {
      throw this.#wrong('it is cut off', this.#offset)
    }
  }

  /** @type {(chunk: Buffer, at: number) => number} */
  #step (chunk, at) {
    if (this.#place === PART) return this.#gather(chunk, at)
    if (this.#place === SKIPPED) {
      const size = Math.min(this.#left, chunk.length - at)
      this.#left -= size
      if (this.#left === 0) this.#place = TAG
      return at + size
    }
    if (this.#place === TAG && this.#shift === 0) this.#closeMessages(this.#offset + at)
    at = this.#passNumber(chunk, at)
    // It may go on in the next chunk.
    if (this.#shift > 0) return at
    if (this.#place === TAG) this.#beginField(this.#offset + at)
    else if (this.#place === SIZE) return this.#beginSized(chunk, at)
    else this.#place = TAG
    return at
  }

  /** @param {number} at */
  #closeMessages (at) {
    while (this.#level > 0 && at === this.#ends[this.#level]) {
      if (this.#groups.length > 0) throw this.#wrong(`the group of field ${this.#groups.at(-1)} is cut off`, at)
      this.#sink.close(this.#level)
      this.#level--
    }
  }

  /** Afterwards `#shift` is 0 if the number is whole. @type {(chunk: Buffer, at: number) => number} */
  #passNumber (chunk, at) {
    const end = Math.min(chunk.length, this.#ends[this.#level] - this.#offset)
    if (this.#shift === 0) this.#low = this.#high = 0
    while (at < end) {
      const byte = chunk[at++]
      const bits = byte & 0x7f
      if (this.#shift < 28) this.#low |= bits << this.#shift
      else if (this.#shift === 28) {
        this.#low |= bits << 28
        this.#high = bits >>> 4
      } else this.#high |= bits << (this.#shift - 32)
      this.#shift += 7
      if (byte < 0x80) {
        this.#shift = 0
        return at
      }
      if (this.#shift === 70) throw this.#wrong('a number has more than ten bytes', this.#offset + at)
    }
    if (at < chunk.length) throw this.#wrong('a number is cut off', this.#offset + at)
    return at
  }

  /** @param {number} at */
  #beginField (at) {
    const tag = this.#tag = this.#low >>> 0
    const field = tag >>> FIELD_BITS
    if (this.#high !== 0 || field === 0) throw this.#wrong('no field has this number', at)
    const { inner, parts, known } = LEVELS[this.#level]
    this.#part = null
    if (this.#groups.length === 0) {
      this.#part = parts[tag] ?? null
      const isMeant = tag === inner || this.#part !== null
      if (!isMeant && field < 32 && known >>> field & 1) throw this.#wrongType(at)
    }
    this.#beginValue(field, tag & WIRE_MASK, at)
  }

  /** @type {(field: number, wire: number, at: number) => void} */
  #beginValue (field, wire, at) {
    if (wire === WIRE.varint) this.#place = NUMBER
    else if (wire === WIRE.sized) this.#place = SIZE
    else if (wire === WIRE.fixed64) this.#skip(8, at)
    else if (wire === WIRE.fixed32) this.#skip(4, at)
    else if (wire === WIRE.groupBegin && this.#groups.length < GROUP_DEPTH_MAX) this.#groups.push(field)
    else if (wire === WIRE.groupEnd && this.#groups.at(-1) === field) this.#groups.pop()
    else throw this.#wrongType(at)
  }

  /** @type {(size: number, at: number) => void} */
  #skip (size, at) {
    if (size > this.#ends[this.#level] - at) throw this.#wrong(`a number of ${size} bytes is cut off`, at)
    this.#left = size
    this.#place = size === 0 ? TAG : SKIPPED
  }

  /** @type {(chunk: Buffer, at: number) => number} */
  #beginSized (chunk, at) {
    const size = this.#high * UINT32 + (this.#low >>> 0)
    const position = this.#offset + at
    const left = this.#ends[this.#level] - position
    if (this.#high !== 0 || size > left) throw this.#wrong(`a part has ${size} bytes, and ${left} are left`, position)
    this.#place = TAG
    if (this.#groups.length === 0 && this.#tag === LEVELS[this.#level].inner) {
      this.#level++
      this.#ends[this.#level] = position + size
      this.#sink.open(this.#level)
      return at
    }
    if (this.#part === null || size > this.#sizeMax) {
      if (this.#part === 'record') this.#sink.tooLarge()
      else if (this.#part !== null) throw partTooLarge(this.#part, this.#sizeMax)
      this.#skip(size, position)
      return at
    }
    if (size > chunk.length - at) {
      this.#gathered = Buffer.allocUnsafeSlow(size)
      this.#left = size
      this.#place = PART
      return at
    }
    this.#sink.part(this.#part, chunk, at, at + size, this.#offset)
    return at + size
  }

  /** @type {(chunk: Buffer, at: number) => number} */
  #gather (chunk, at) {
    const gathered = /** @type {Buffer} */ (this.#gathered)
    const size = Math.min(this.#left, chunk.length - at)
    chunk.copy(gathered, gathered.length - this.#left, at, at + size)
    this.#left -= size
    if (this.#left === 0) {
      this.ready = gathered
      this.#readyOffset = this.#offset + at + size - gathered.length
      this.#gathered = null
      this.#place = TAG
    }
    return at + size
  }

  /** @param {number} at */
  #wrongType (at) {
    return this.#wrong(`field ${this.#tag >>> FIELD_BITS} has the wire type ${this.#tag & WIRE_MASK}`, at)
  }

  /** @type {(what: string, offset: number) => LogError} */
  #wrong (what, offset) {
    return new LogError('ERR_CODEC_DECODE', `the request is no protobuf of OTLP logs: ${what}, at byte ${offset}`, { offset })
  }
}

exports.ProtobufCutter = ProtobufCutter
