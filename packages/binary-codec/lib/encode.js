'use strict'
// From a value to its bytes, in one pass. A length stands before what it counts, so its size is guessed, the payload
// written, and the payload moved by a byte or three where the guess was wrong: cheaper than measuring everything first.

const { LogError, misuse } = require('@millrace/errors')
const { SPLICE, isInt, kindOfObject, resolve } = require('./kinds')
const { markIdempotent } = require('./splice')
const { asTextBuffer } = require('./text')
const { checkValue } = require('./validate')
const { tagSize, writeTag } = require('./varint')
const {
  STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, EXTENSION, DATE, BIGINT,
  TYPE_BITS, TAG_SIZE_MAX, PAYLOAD_SIZE_MAX, DEPTH_MAX, BIGINT_SIZE_MAX
} = require('./types')

const SCRATCH_SIZE = 64 * 1024
/** A scratch buffer that one large value has grown past this is let go afterwards. */
const SCRATCH_KEPT_SIZE_MAX = 4 * 1024 * 1024
/** Most arrays and objects have 16 to 2047 bytes. */
const GUESSED_TAG_SIZE = 2
/** Strings shorter than this are written character by character: a call into the engine costs more. */
const LOOP_LENGTH_MAX = 28
/** UTF-8 takes up to this many bytes for one UTF-16 unit. */
const UNIT_SIZE_MAX = 3
/** From this length on a string is measured before room is made for it, so that the scratch does not triple for it. */
const MEASURED_LENGTH_MIN = 4096

/** Writes one value at a time into a scratch buffer that it keeps. */
class Writer {
  constructor () {
    this.pos = 0
    this.depth = 0
    /** @type {Array<string | number>} keys and indexes that lead to the value in hand: its first `depth` items */
    this.path = []
    this.buf = asTextBuffer(Buffer.allocUnsafeSlow(SCRATCH_SIZE))
    this.view = new DataView(this.buf.buffer)
  }

  /**
   * @param {unknown} value
   * @returns {number}  how many bytes it took, from the start of `buf`
   */
  write (value) {
    this.pos = 0
    this.depth = 0
    if (this.buf.length > SCRATCH_KEPT_SIZE_MAX) this.replaceScratch(SCRATCH_SIZE)
    try {
      this.value(value, '')
      return this.pos
    } catch (err) {
      if (err instanceof LogError && err.code === 'ERR_CODEC_ENCODE') throw err
      throw this.refusal(`${err instanceof Error ? err.message : String(err)}`, err)
    }
  }

  /**
   * @param {any} given
   * @param {string | number} key
   * @returns {void}
   */
  value (given, key) {
    const value = resolve(given, key)
    switch (typeof value) {
      case 'string': return this.string(value)
      case 'number': return this.number(value)
      case 'object': return this.object(value)
      case 'boolean': return this.boolnull(value ? 1 : 0)
      case 'undefined': return this.boolnull(2)
      case 'bigint': return this.bigint(value)
      default: throw this.refusal(`a ${typeof value} has no binary form`)
    }
  }

  /** @param {any} value */
  object (value) {
    switch (kindOfObject(value)) {
      case OBJECT: return this.properties(value)
      case ARRAY: return this.items(value)
      case BOOLNULL: return this.null()
      case BUFFER: return this.bytes(value)
      case SPLICE: return this.splice(value)
      case EXTENSION: return this.date(value)
      default: throw this.refusal(`a ${Object.prototype.toString.call(value).slice(8, -1)} has no binary form`)
    }
  }

  /** @param {any} object */
  properties (object) {
    const keys = Object.keys(object) // before open: a Proxy may throw here, when the path has no place for a key yet
    const start = this.open()
    const last = this.depth - 1
    for (const key of keys) {
      this.path[last] = key
      this.string(key)
      this.value(object[key], key)
    }
    this.depth--
    this.close(start, GUESSED_TAG_SIZE, OBJECT)
  }

  /** @param {any[]} array */
  items (array) {
    const start = this.open()
    const last = this.depth - 1
    for (let index = 0; index < array.length; index++) {
      this.path[last] = index
      this.value(array[index], index)
    }
    this.depth--
    this.close(start, GUESSED_TAG_SIZE, ARRAY)
  }

  /** @param {string} text */
  string (text) {
    const length = text.length
    this.reserve(TAG_SIZE_MAX + (length < MEASURED_LENGTH_MIN ? length * UNIT_SIZE_MAX : this.measure(text)))
    if (length < LOOP_LENGTH_MAX && this.shortAscii(text)) return
    const start = this.pos
    const guessed = tagSize(length << TYPE_BITS)
    this.pos += guessed
    this.pos += this.buf.utf8Write(text, this.pos)
    this.close(start, guessed, STRING)
  }

  /**
   * @param {string} text
   * @returns {number}  its bytes, which fit into a payload
   */
  measure (text) {
    const size = Buffer.byteLength(text)
    this.checkSize(size)
    return size
  }

  /**
   * @param {string} text  shorter than LOOP_LENGTH_MAX
   * @returns {boolean}  false when it is not ASCII, and nothing counts as written
   */
  shortAscii (text) {
    const { buf } = this
    let pos = writeTag(buf, this.pos, text.length << TYPE_BITS | STRING)
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 0x80) return false
      buf[pos++] = code
    }
    this.pos = pos
    return true
  }

  /** @param {number} value */
  number (value) {
    this.reserve(9)
    if (isInt(value)) {
      this.buf[this.pos] = 4 << TYPE_BITS | INT
      this.view.setInt32(this.pos + 1, value, true)
      this.pos += 5
    } else {
      this.buf[this.pos] = 8 << TYPE_BITS | DOUBLE
      this.view.setFloat64(this.pos + 1, value, true)
      this.pos += 9
    }
  }

  /** @param {0 | 1 | 2} code  false, true or undefined */
  boolnull (code) {
    this.reserve(2)
    this.buf[this.pos] = 1 << TYPE_BITS | BOOLNULL
    this.buf[this.pos + 1] = code
    this.pos += 2
  }

  null () {
    this.reserve(1)
    this.buf[this.pos++] = BOOLNULL
  }

  /** @param {Uint8Array} bytes */
  bytes (bytes) {
    this.checkSize(bytes.length)
    this.reserve(TAG_SIZE_MAX + bytes.length)
    this.pos = writeTag(this.buf, this.pos, bytes.length << TYPE_BITS | BUFFER)
    this.buf.set(bytes, this.pos)
    this.pos += bytes.length
  }

  /** @param {Uint8Array} bytes  marked as an encoded value; checked, since a reader would refuse the whole record */
  splice (bytes) {
    const end = checkValue(asTextBuffer(bytes), 0, bytes.length, this.depth)
    if (end !== bytes.length) throw this.refusal(`a marked buffer has ${bytes.length - end} bytes behind its value`)
    this.reserve(bytes.length)
    this.buf.set(bytes, this.pos)
    this.pos += bytes.length
  }

  /** @param {Date} date */
  date (date) {
    this.reserve(10)
    this.buf[this.pos] = 9 << TYPE_BITS | EXTENSION
    this.buf[this.pos + 1] = DATE
    this.view.setFloat64(this.pos + 2, date.getTime(), true)
    this.pos += 10
  }

  /** @param {bigint} value */
  bigint (value) {
    const hex = value === 0n ? '' : (value < 0n ? -value : value).toString(16)
    const magnitude = Buffer.from(hex.length % 2 === 1 ? `0${hex}` : hex, 'hex').reverse()
    if (magnitude.length > BIGINT_SIZE_MAX) throw this.refusal(`a BigInt of more than ${BIGINT_SIZE_MAX} bytes`)
    this.reserve(TAG_SIZE_MAX + 2 + magnitude.length)
    this.pos = writeTag(this.buf, this.pos, (magnitude.length + 2) << TYPE_BITS | EXTENSION)
    this.buf[this.pos] = BIGINT
    this.buf[this.pos + 1] = value < 0n ? 1 : 0
    this.buf.set(magnitude, this.pos + 2)
    this.pos += 2 + magnitude.length
  }

  /** @returns {number}  where the tag of the array or object will stand */
  open () {
    if (this.depth === DEPTH_MAX) throw this.refusal(`nested deeper than ${DEPTH_MAX} levels; is there a cycle?`)
    this.depth++
    this.reserve(TAG_SIZE_MAX)
    const start = this.pos
    this.pos += GUESSED_TAG_SIZE
    return start
  }

  /**
   * Writes the tag of a payload that ends at `pos`, and moves the payload when the tag is not of the size guessed.
   * @param {number} start  of the tag
   * @param {number} guessed  bytes left free for it
   * @param {number} type
   */
  close (start, guessed, type) {
    const size = this.pos - start - guessed
    this.checkSize(size)
    const tag = size << TYPE_BITS | type
    const excess = tagSize(tag) - guessed
    if (excess !== 0) {
      this.reserve(TAG_SIZE_MAX)
      this.buf.copyWithin(start + guessed + excess, start + guessed, this.pos)
      this.pos += excess
    }
    writeTag(this.buf, start, tag)
  }

  /** @param {number} size */
  checkSize (size) {
    if (size > PAYLOAD_SIZE_MAX) throw this.refusal(`a value of ${size} bytes; a reader takes at most ${PAYLOAD_SIZE_MAX}`)
  }

  /** @param {number} size  bytes that must fit behind `pos` */
  reserve (size) {
    if (this.pos + size > this.buf.length) this.grow(size)
  }

  /** @param {number} size */
  grow (size) {
    // The outermost value is too large already: there is no need to find out how large.
    if (this.pos > PAYLOAD_SIZE_MAX + TAG_SIZE_MAX) this.checkSize(this.pos)
    this.replaceScratch(Math.max(this.buf.length * 2, this.pos + size))
  }

  /** @param {number} size */
  replaceScratch (size) {
    const before = this.buf
    this.buf = asTextBuffer(Buffer.allocUnsafeSlow(size))
    this.view = new DataView(this.buf.buffer)
    before.copy(this.buf, 0, 0, this.pos)
  }

  /**
   * @param {string} found
   * @param {unknown} [cause]
   * @returns {LogError}
   */
  refusal (found, cause) {
    const path = this.path.slice(0, this.depth)
    const shown = path.length > 10 ? [...path.slice(0, 10), '...'] : path
    return new LogError('ERR_CODEC_ENCODE', `encode: at /${shown.join('/')}: ${found}`, { path, cause })
  }
}

/** @type {Writer | null} null while a value is being written, since its toJSON may encode another */
let idleWriter = new Writer()

/**
 * @template T
 * @param {unknown} value
 * @param {(scratch: Buffer, size: number) => T} take  gets the bytes, which are overwritten afterwards
 * @returns {T}
 */
function withEncoded (value, take) {
  const writer = idleWriter ?? new Writer()
  idleWriter = null
  try {
    const size = writer.write(value)
    return take(writer.buf, size)
  } finally {
    idleWriter = writer
  }
}

/**
 * @overload
 * @param {unknown} value
 * @returns {Buffer}  of exactly the size needed
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * @overload
 * @param {unknown} value
 * @param {Uint8Array} buf  gets the bytes; untouched when they do not fit
 * @param {number} [start]
 * @returns {number}  how many bytes were written
 * @throws {LogError} ERR_CODEC_ENCODE with `path`
 */
/**
 * @param {unknown} value
 * @param {Uint8Array} [buf]
 * @param {number} [start]
 * @returns {Buffer | number}
 */
function encode (value, buf, start = 0) {
  if (buf === undefined) return withEncoded(value, copyOut)
  if (!(buf instanceof Uint8Array)) throw misuse(`encode: expected a Buffer to write to, got ${typeof buf}`)
  return withEncoded(value, (scratch, size) => {
    if (!Number.isInteger(start) || start < 0 || start + size > buf.length) {
      throw misuse(`encode: ${size} bytes from ${String(start)} do not fit into a buffer of ${buf.length}`)
    }
    buf.set(scratch.subarray(0, size), start)
    return size
  })
}

/**
 * @param {Buffer} scratch
 * @param {number} size
 * @returns {Buffer}
 */
function copyOut (scratch, size) {
  const out = Buffer.allocUnsafe(size)
  scratch.copy(out, 0, 0, size)
  return out
}

/**
 * @param {unknown} value
 * @returns {number}  the size of its bytes; found by encoding it, so `encode(value)` alone is half the work of both
 */
function encodingLength (value) {
  return withEncoded(value, (scratch, size) => size)
}

/**
 * @param {unknown} value
 * @returns {Buffer}  its bytes, marked: encoded as part of another value they are copied in as they are
 */
function encodeIdempotent (value) {
  return markIdempotent(encode(value))
}

exports.encode = encode
exports.encodingLength = encodingLength
exports.encodeIdempotent = encodeIdempotent
