'use strict'
// Reads of a log that is covered. The first time in a session that bytes of a block are wanted, all of the block is
// read and compared with its sum.

const { readWhole, readWholeSync } = require('@millrace/block-file')
const { crc32 } = require('../framing/checked/crc32')
const { mismatch } = require('./damaged-range')
const { BLOCK_SIZE } = require('./layout')

// What is to be checked is delivered in pieces, as the kernel may: the caller goes on where one ended.
const PIECE_SIZE_MAX = 16 * BLOCK_SIZE

/**
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./sums').Sums} Sums
 * @typedef {(err: Error | null, count?: number) => void} Counted
 */

/**
 * A block that must be compared, and what it was like when its read began: an append may come in between.
 * @typedef {{ index: number, end: number, sum: number }} Wanted
 */

/**
 * @typedef {object} Span  what to read for a request
 * @property {number} start
 * @property {number} end
 * @property {number} length  how many of the bytes are the request's
 * @property {Wanted[]} wanted
 */

class CheckedReads {
  /**
   * @param {StorageHandle} handle  of the log
   * @param {string} path  of the log
   * @param {Sums} sums
   * @param {(index: number, end: number) => 'deliver' | 'again'} onMismatch  decides, or throws
   */
  constructor (handle, path, sums, onMismatch) {
    this.sums = sums
    this.isOn = true
    this._handle = handle
    this._path = path
    this._onMismatch = onMismatch
    /** @type {Buffer} */
    this._scratch = Buffer.alloc(0)
  }

  /**
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   * @param {Counted} cb
   */
  read (buf, offset, length, position, cb) {
    const span = this._spanFor(position, length)
    if (span === null) return this._handle.read(buf, offset, length, position, cb)
    const isExact = span.start === position && span.end === position + span.length
    const target = isExact ? buf.subarray(offset, offset + span.length) : Buffer.allocUnsafeSlow(span.end - span.start)
    readWhole(this._handle, target, span.start, (err, count) => {
      if (err) return cb(err)
      let isRight
      try {
        isRight = this._compare(span, target.subarray(0, count))
      } catch (err) {
        return cb(/** @type {Error} */ (err))
      }
      if (!isRight) return this.read(buf, offset, length, position, cb)
      cb(null, isExact ? count : copyRequest(span, target.subarray(0, count), buf, offset, position))
    })
  }

  /**
   * @param {Buffer} buf
   * @param {number} offset
   * @param {number} length
   * @param {number} position
   * @returns {number}
   */
  readSync (buf, offset, length, position) {
    for (;;) {
      const span = this._spanFor(position, length)
      if (span === null) return this._handle.readSync(buf, offset, length, position)
      const isExact = span.start === position && span.end === position + span.length
      const target = isExact ? buf.subarray(offset, offset + span.length) : this._takeScratch(span.end - span.start)
      const count = readWholeSync(this._handle, target, span.start)
      if (!this._compare(span, target.subarray(0, count))) continue
      return isExact ? count : copyRequest(span, target.subarray(0, count), buf, offset, position)
    }
  }

  /**
   * Reads a block and compares it, however often that was done before: something is to be made of it.
   * @param {number} index
   * @param {(err: Error | null, bytes?: Buffer) => void} cb
   */
  loadBlock (index, cb) {
    const bytes = this._bufferFor(index)
    const sum = this._expected(index)
    readWhole(this._handle, bytes, index * BLOCK_SIZE, (err, count) => {
      if (err || isSame(bytes, count, sum)) return cb(err, bytes)
      cb(mismatch(this._path, { start: index * BLOCK_SIZE, end: index * BLOCK_SIZE + bytes.length }))
    })
  }

  /**
   * The same, blocking.
   * @param {number} index
   * @returns {Buffer}
   */
  loadBlockSync (index) {
    const bytes = this._bufferFor(index)
    const count = readWholeSync(this._handle, bytes, index * BLOCK_SIZE)
    if (isSame(bytes, count, this._expected(index))) return bytes
    throw mismatch(this._path, { start: index * BLOCK_SIZE, end: index * BLOCK_SIZE + bytes.length })
  }

  /** @param {number} index */
  _bufferFor (index) {
    return Buffer.allocUnsafe(this.sums.blockEnd(index) - index * BLOCK_SIZE)
  }

  /** @param {number} index */
  _expected (index) {
    return this.sums.isKnown(index) ? this.sums.at(index) : null
  }

  /**
   * @param {number} position
   * @param {number} length
   * @returns {Span | null}  null when nothing of it needs to be checked
   */
  _spanFor (position, length) {
    const { sums } = this
    if (!this.isOn || length === 0 || position >= sums.end) return null
    const first = Math.floor(position / BLOCK_SIZE)
    const taken = Math.min(length, PIECE_SIZE_MAX)
    const last = Math.floor((position + taken - 1) / BLOCK_SIZE)
    /** @type {Wanted[]} */
    const wanted = []
    for (let index = first; index <= last; index++) {
      if (sums.needsCheck(index)) wanted.push({ index, end: sums.blockEnd(index), sum: sums.at(index) })
    }
    if (wanted.length === 0 && taken === length) return null
    const start = sums.needsCheck(first) ? first * BLOCK_SIZE : position
    const end = sums.needsCheck(last) ? Math.max(position + taken, sums.blockEnd(last)) : position + taken
    return { start, end, length: taken, wanted }
  }

  /**
   * @param {Span} span
   * @param {Buffer} bytes  those of the span, fewer where the file ends before
   * @returns {boolean}  false when all of it has to be read again
   */
  _compare ({ start, wanted }, bytes) {
    const { sums } = this
    for (const { index, end, sum } of wanted) {
      const blockStart = index * BLOCK_SIZE
      if (end - start <= bytes.length && crc32(bytes.subarray(blockStart - start, end - start)) === sum) {
        // Those that are being changed now have no sum until they are.
        if (sums.isKnown(index)) sums.markChecked(index)
      } else if (!sums.isChecked(index) && this._onMismatch(index, end) === 'again') {
        return false
      }
    }
    return true
  }

  /** @param {number} size */
  _takeScratch (size) {
    if (this._scratch.length < size) this._scratch = Buffer.allocUnsafeSlow(size)
    return this._scratch.subarray(0, size)
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} count  how many of them were read
 * @param {number | null} sum  null when it is not known
 */
function isSame (bytes, count, sum) {
  return count === bytes.length && (sum === null || crc32(bytes) === sum)
}

/**
 * @param {Span} span
 * @param {Buffer} bytes  of the span
 * @param {Buffer} buf
 * @param {number} offset
 * @param {number} position  of the request
 * @returns {number}  how many bytes of the request there are
 */
function copyRequest (span, bytes, buf, offset, position) {
  const first = position - span.start
  return bytes.copy(buf, offset, first, Math.max(first, Math.min(first + span.length, bytes.length)))
}

exports.CheckedReads = CheckedReads
