'use strict'
// A value's bytes, in one pass. A length stands before what it counts, so its size is guessed, the payload written, and
// the payload moved by a byte or three where the guess was wrong: cheaper than measuring everything first.
//
// Values are written one after the other, in memory that they share and stay in, as in Node's own pool. To copy each
// out of a scratch buffer took a tenth of encoding it. Only what is too large for that is still copied.

const { LogError, reasonOf } = require('@millrace/errors')
const { Piece, allocateShared } = require('@millrace/flow')
const { checkValue, decodeWhole } = require('./decode')
const { BINARY, SPLICE, holdsHidden, isInt, kindOfObject, resolve } = require('./kinds')
const { byteLengthOf, clearNaN, writeBigInt, writeBinary, writeDate } = require('./scalars')
const { asTextBuffer, compareCodePoints, isWellFormed, mayCollide, toWellFormed } = require('./text')
const {
  STRING, BUFFER, INT, DOUBLE, ARRAY, OBJECT, BOOLNULL, EXTENSION, TYPE_BITS, TAG_SIZE_MAX, PAYLOAD_SIZE_MAX, DEPTH_MAX,
  tagSize, writeTag
} = require('./wire-format')

/** Most arrays and objects have 16 to 2047 bytes. */
const GUESSED_TAG_SIZE = 2
/** Strings shorter than this are written character by character: a call into the engine costs more. */
const LOOP_LENGTH_MAX = 20
/** UTF-8 takes up to this many bytes for one UTF-16 unit. */
const UNIT_SIZE_MAX = 3
/** From this length on a string is measured before room is made for it, so that the memory does not triple for it. */
const MEASURED_LENGTH_MIN = 4096

/** A small value that is kept keeps alive the neighbours that lie in as much memory as this. */
const SLAB_SIZE = 16 * 1024
/** A slab with less room left is not used any more, so that few small values begin in one that they do not fit into. */
const ROOM_MIN = 1024
/** Larger values are copied out when they do not fit, and leave the rest of the slab to smaller ones. */
const SHARED_SIZE_MAX = SLAB_SIZE / 4
const SCRATCH_SIZE = 64 * 1024
/** A scratch buffer that one large value has grown past this is let go afterwards. */
const SCRATCH_KEPT_SIZE_MAX = 4 * 1024 * 1024
const KEYS_SHOWN_MAX = 10

/**
 * The engine has some ten kinds of strings: put together, cut out, of one byte a character or of two. Where it has seen
 * five of them it looks up a string's method anew at each call, which takes several times as long as the call.
 * @type {(text: string, index: number) => number}
 */
const charCodeAt = Function.prototype.call.bind(String.prototype.charCodeAt)
const { hasOwnProperty } = Object.prototype

/** @typedef {import('./text').TextBuffer} TextBuffer */

/** Writes one value at a time. One class for both forms, since a subclass slows both down by a twentieth. */
class Writer {
  /** @param {{ isCanonical: boolean }} options  whether values that come back equal get equal bytes */
  constructor ({ isCanonical }) {
    this.isCanonical = isCanonical
    this.pos = 0
    this.depth = 0
    /** @type {Array<string | number>} keys and indexes that lead to the value in hand: its first `depth` items */
    this.path = []
    /** @type {LogError | null} not that of another value, which a toJSON has encoded: its path begins elsewhere */
    this.ownRefusal = null
    /** Where the value begins in `buf`. */
    this.start = 0
    this.slab = asTextBuffer(allocateShared(SLAB_SIZE))
    this.slabView = new DataView(this.slab.buffer)
    /** @type {TextBuffer | null} */
    this.scratch = null
    /** Where the value in hand is: the slab or the scratch. */
    this.buf = this.slab
    /** Over `buf`. */
    this.view = this.slabView
  }

  /**
   * @param {unknown} value
   * @returns {number}  how many bytes it took
   */
  write (value) {
    this.makeRoom()
    this.pos = this.start
    this.depth = 0
    this.ownRefusal = null
    try {
      this.value(value, '')
      return this.pos - this.start
    } catch (err) {
      if (err === this.ownRefusal) throw err
      throw this.refusal(reasonOf(err), err)
    }
  }

  /** For the next value. What was written and not taken is overwritten. */
  makeRoom () {
    const isFull = this.start + ROOM_MIN > SLAB_SIZE
    if (this.buf === this.slab && !isFull) return
    if (isFull) {
      this.slab = asTextBuffer(allocateShared(SLAB_SIZE))
      this.slabView = new DataView(this.slab.buffer)
      this.start = 0
    }
    if (this.scratch !== null && this.scratch.length > SCRATCH_KEPT_SIZE_MAX) this.scratch = null
    this.buf = this.slab
    this.view = this.slabView
  }

  /** @returns {Buffer}  what was written last; its bytes are the caller's own */
  finish () {
    const { buf, start, pos } = this
    if (buf === this.slab) {
      this.start = pos
      return new Piece(buf.buffer, start, pos - start)
    }
    // What did not fit after the others would not the next time either.
    if (pos - start <= SHARED_SIZE_MAX) this.start = SLAB_SIZE
    return Buffer.from(buf.subarray(start, pos))
  }

  /**
   * @param {Uint8Array} target  gets what was written last
   * @param {number} start
   */
  copyTo (target, start) {
    target.set(this.buf.subarray(this.start, this.pos), start)
  }

  /**
   * @param {any} given
   * @param {string | number} key
   * @returns {void}
   */
  value (given, key) {
    const value = resolve(given, key)
    switch (typeof value) {
      case 'string': this.string(value); return
      case 'number': return this.number(value)
      case 'object': return this.object(value)
      case 'boolean': return this.boolnull(value ? 1 : 0)
      case 'undefined': return this.boolnull(2)
      case 'bigint': return writeBigInt(this, value)
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
      case EXTENSION: return writeDate(this, value)
      case BINARY: return writeBinary(this, value)
      default: throw this.refusal(`${nameOf(value)} has no binary form; encode what is to be kept of it`)
    }
  }

  /**
   * In a `for in` the engine knows where the value of a key is, and makes no list of them: a tenth of the whole.
   * @param {any} object
   */
  properties (object) {
    if (this.isCanonical) return this.sortedProperties(object)
    const start = this.open()
    const { depth } = this
    /** @type {Set<string> | null} keys that others may become */
    let replaced = null
    let isEmpty = true
    for (const key in object) {
      if (!hasOwnProperty.call(object, key)) continue
      isEmpty = false
      this.enter(depth, key)
      if (this.string(key) !== key.length && mayCollide(key)) replaced = this.addKey(replaced ?? new Set(), key)
      this.value(object[key], key)
      this.depth = depth // here too: a Proxy may throw when it is asked for the next key
    }
    if (isEmpty) this.checkEmpty(object)
    this.close(start, GUESSED_TAG_SIZE, OBJECT)
  }

  /**
   * @param {Set<string>} replaced  keys of the object as they will be read; gets this one
   * @param {string} key
   */
  addKey (replaced, key) {
    const read = toWellFormed(key)
    if (replaced.has(read)) throw this.refusal('a key that another one of its object becomes: half a surrogate pair has no UTF-8')
    return replaced.add(read)
  }

  /**
   * An object whose class is hidden by its prototype.
   * @param {object} object  that has nothing to show
   */
  checkEmpty (object) {
    if (holdsHidden(object)) throw this.refusal(`${nameOf(object)} has no binary form; encode what is to be kept of it`)
  }

  /** @param {any} object */
  sortedProperties (object) {
    const start = this.open()
    const { depth } = this
    const keys = Object.keys(object)
    if (keys.length === 0) this.checkEmpty(object)
    for (const key of keys.sort(compareCodePoints)) {
      this.enter(depth, key)
      this.string(key)
      this.value(object[key], key)
      this.depth = depth
    }
    this.close(start, GUESSED_TAG_SIZE, OBJECT)
  }

  /** @param {any[]} array */
  items (array) {
    if (array.length > PAYLOAD_SIZE_MAX) throw this.refusal(`an array of ${array.length} items, which is too long`)
    const start = this.open()
    const { depth } = this
    for (let index = 0; index < array.length; index++) {
      this.enter(depth, index)
      const item = array[index]
      if (item === undefined && this.isCanonical && !Object.hasOwn(array, index)) {
        throw this.refusal('a hole, which has no canonical form; put undefined there')
      }
      this.value(item, index)
    }
    this.depth = depth
    this.close(start, GUESSED_TAG_SIZE, ARRAY)
  }

  /**
   * @param {string} text
   * @returns {number}  bytes of its UTF-8
   */
  string (text) {
    const length = text.length
    if (this.isCanonical) this.checkText(text)
    this.reserve(TAG_SIZE_MAX + (length < MEASURED_LENGTH_MIN ? length * UNIT_SIZE_MAX : this.measure(text)))
    if (length < LOOP_LENGTH_MAX && this.shortAscii(text, length)) return length
    const start = this.pos
    const guessed = tagSize(length << TYPE_BITS)
    const size = this.buf.utf8Write(text, start + guessed)
    this.pos = start + guessed + size
    if (size === length) writeTag(this.buf, start, size << TYPE_BITS | STRING)
    else this.close(start, guessed, STRING)
    return size
  }

  /** @param {string} text */
  checkText (text) {
    if (!isWellFormed(text)) throw this.refusal('a text with half a surrogate pair, which has no canonical form')
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
   * @param {string} text
   * @param {number} length  of it, below LOOP_LENGTH_MAX
   * @returns {boolean}  false when it is not ASCII, and nothing counts as written
   */
  shortAscii (text, length) {
    const { buf } = this
    let pos = writeTag(buf, this.pos, length << TYPE_BITS | STRING)
    for (let i = 0; i < length; i++) {
      const code = charCodeAt(text, i)
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
      if (Number.isNaN(value)) clearNaN(this.view, this.pos + 1)
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
    const size = byteLengthOf(bytes)
    this.checkSize(size)
    this.reserve(TAG_SIZE_MAX + size)
    this.pos = writeTag(this.buf, this.pos, size << TYPE_BITS | BUFFER)
    this.buf.set(bytes, this.pos)
    this.pos += size
  }

  /** @param {Uint8Array} bytes  marked as an encoded value; checked, since a reader would refuse the whole record */
  splice (bytes) {
    if (this.isCanonical) return this.value(decodeWhole(bytes, false), '')
    const end = checkValue(asTextBuffer(bytes), 0, bytes.length, this.depth)
    if (end !== bytes.length) throw this.refusal(`a marked buffer has ${bytes.length - end} bytes after its value`)
    this.reserve(bytes.length)
    this.buf.set(bytes, this.pos)
    this.pos += bytes.length
  }

  /** @returns {number}  where the tag of the array or object will stand */
  open () {
    if (this.depth === DEPTH_MAX) throw this.refusal(`nested deeper than ${DEPTH_MAX} levels; is there a cycle?`)
    this.reserve(TAG_SIZE_MAX)
    const start = this.pos
    this.pos += GUESSED_TAG_SIZE
    return start
  }

  /**
   * @param {number} depth  of the array or object
   * @param {string | number} key  of the value in it that comes next
   */
  enter (depth, key) {
    this.path[depth] = key
    this.depth = depth + 1
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

  /** @param {number} size  bytes that must fit after `pos` */
  reserve (size) {
    if (this.pos + size > this.buf.length) this.grow(size)
  }

  /** @param {number} size */
  grow (size) {
    // The outermost value is too large already: there is no need to find out how large.
    const { buf: before, start, pos } = this
    const written = pos - start
    if (written > PAYLOAD_SIZE_MAX + TAG_SIZE_MAX) this.checkSize(written)
    if (before === this.scratch || this.scratch === null || this.scratch.length < pos + size) {
      this.scratch = asTextBuffer(Buffer.allocUnsafeSlow(Math.max(SCRATCH_SIZE, 2 * before.length, pos + size)))
    }
    this.buf = this.scratch
    this.view = new DataView(this.buf.buffer)
    before.copy(this.buf, start, start, pos)
  }

  /**
   * @param {string} found
   * @param {unknown} [cause]
   * @returns {LogError}
   */
  refusal (found, cause) {
    const path = this.path.slice(0, this.depth)
    const shown = path.length > KEYS_SHOWN_MAX ? [...path.slice(0, KEYS_SHOWN_MAX), '...'] : path
    this.ownRefusal = new LogError('ERR_CODEC_ENCODE', `encode: at /${shown.join('/')}: ${found}`, { path, cause })
    return this.ownRefusal
  }
}

/**
 * @param {object} value
 * @returns {string}  such as `[object Map]`
 */
function nameOf (value) {
  return Object.prototype.toString.call(value)
}

exports.Writer = Writer
