'use strict'
// Gets the line of a seq.

const { misuse } = require('@millrace/errors')
const { notFound } = require('../errors')
const { LinesReader, locateLine } = require('./lines-reader')

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
// The first read of a line, in bytes. If the line is longer, it is read again, whole.
const WISH = 1024
const READ_SIZE_MAX = 64 * 1024

/** @typedef {import('../lines-store').LinesStore} LinesStore */

/**
 * @param {LinesStore} store
 * @param {unknown} seq
 * @param {(err: Error | null, found?: import('../getter').Found) => void} cb  ERR_RECORD_NOT_FOUND if no line begins
 *   there, ERR_LOG_CORRUPT if it is in a hole
 */
function readLine (store, seq, cb) {
  const { blocks: { path }, start, end } = store
  if (typeof seq !== 'number') return cb(misuse(`get: expected the seq of a record, got ${typeof seq}`))
  if (!Number.isSafeInteger(seq) || seq < start || seq >= end) return cb(notFound('get', path, seq))
  // From the start of the line that the seq is in, so that no part of a line is taken for one.
  locateLine(store, seq, false, (err, position = 0) => {
    if (err) return cb(err)
    const reader = new LinesReader(store, { from: seq, stop: seq + 1, reverse: false, skipsDamage: position < seq }, position)
    reader.next(end, (err, records) => {
      if (err || !records) return cb(err)
      if (records.count === 0 || records.seqs[0] !== seq) return cb(notFound('get', path, seq))
      cb(null, { data: Buffer.from(records.buffer.subarray(records.starts[0], records.ends[0])), isDeleted: false })
    })
  })
}

/**
 * Finds a line without waiting: in a cached block, or with one small read. It leaves every unusual case to `readLine`,
 * which says what is wrong.
 */
class LinePeeker {
  #store
  #peeker
  /** Where the last line ended. If the next seq is this one, lines are being read in order. */
  #nextSeq = -1

  /** @param {LinesStore} store */
  constructor (store) {
    this.#store = store
    this.#peeker = store.blocks.createPeeker()
    /** Where the found record is in `bytes`. Invalid once anything else is read or awaited. */
    this.start = 0
    this.end = 0
  }

  get bytes () {
    return this.#peeker.bytes
  }

  /** @returns {Buffer}  the found record; the caller owns it */
  take () {
    return this.#peeker.take(this.start, this.end)
  }

  /**
   * @param {number} seq  any number
   * @returns {boolean}  whether it found a whole line
   */
  find (seq) {
    const { start: first, end, maxRecordSize } = this.#store
    if (!Number.isSafeInteger(seq) || seq < first || seq >= end) return false
    // Another line must end where this one begins.
    const before = seq === first ? 0 : 1
    const position = seq - before
    const peeker = this.#peeker
    if (!peeker.look(position, Math.min(WISH, end - position), Math.min(WISH, end - position), seq === this.#nextSeq)) return false
    let textEnd = this.#findEnd(position, before)
    for (let size = 4 * WISH; textEnd === -1 && size <= READ_SIZE_MAX; size *= 4) {
      if (!peeker.read(position, Math.min(size, end - position))) return false
      textEnd = this.#findEnd(position, before)
    }
    const { bytes, offset } = peeker
    const start = offset + before
    if (textEnd <= start || (before > 0 && bytes[offset] !== LINE_FEED)) return false
    this.#nextSeq = seq + textEnd - start + 1
    if (bytes[textEnd - 1] === CARRIAGE_RETURN) textEnd--
    if (textEnd === start || textEnd - start > maxRecordSize) return false
    this.start = start
    this.end = textEnd
    return true
  }

  /**
   * @type {(position: number, before: number) => number} the offset of the line's end in the bytes of the last look; -1
   *   if they do not reach it. A line with a zero byte ends where it begins: `readLine` deals with it
   */
  #findEnd (position, before) {
    const { bytes, offset, size } = this.#peeker
    const { end } = this.#store
    const heldEnd = offset + Math.min(size, end - position)
    const start = offset + before
    const found = bytes.indexOf(LINE_FEED, start)
    const lineEnd = found === -1 || found >= heldEnd ? heldEnd : found
    const zero = bytes.indexOf(0, start)
    if (zero !== -1 && zero < lineEnd) return start
    return lineEnd === heldEnd && position + heldEnd - offset < end ? -1 : lineEnd
  }
}

exports.LinePeeker = LinePeeker
exports.readLine = readLine
