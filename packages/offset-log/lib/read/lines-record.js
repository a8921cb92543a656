'use strict'
// Gets the line of a seq.

const { misuse } = require('@millrace/errors')
const { withoutReturn } = require('@millrace/framing')
const { notFound } = require('../errors')
const { LinesReader, locateLine } = require('./lines-reader')

const LINE_FEED = 10
const NOWHERE = -1
// The first read of a line, in bytes. If the line is longer, it is read again, whole.
const WISH = 1024
const READ_SIZE_MAX = 64 * 1024

/** @typedef {import('../lines-store').LinesStore} LinesStore */

/**
 * @typedef {(err: Error | null, found?: import('../getter').Found) => void} FoundCallback
 * @param {LinesStore} store
 * @param {unknown} seq
 * @param {FoundCallback} cb  ERR_RECORD_NOT_FOUND if no line begins there, ERR_LOG_CORRUPT if it is in a hole
 */
function readLine (store, seq, cb) {
  const { blocks: { path }, start, end, failure } = store
  if (failure !== null) return cb(failure)
  if (typeof seq !== 'number') return cb(misuse(`get: expected the seq of a record, got ${typeof seq}`))
  if (!Number.isSafeInteger(seq) || seq < start || seq >= end) return cb(notFound('get', path, seq))
  readSize(store, seq, WISH, cb)
}

/**
 * Reads so many bytes from the end of the line before on. If they do not reach the end of the line, reads more.
 * @type {(store: LinesStore, seq: number, size: number, cb: FoundCallback) => void}
 */
function readSize (store, seq, size, cb) {
  const { blocks, start, end } = store
  const before = seq === start ? 0 : 1
  const to = Math.min(end, seq + size)
  blocks.read(seq - before, to, (err, bytes) => {
    if (err || !bytes) return cb(err)
    const lineEnd = findEnd(bytes, before, bytes.length)
    const isLine = (before === 0 || bytes[0] === LINE_FEED) && lineEnd > before
    if (!isLine) return readInContext(store, seq, cb)
    if (lineEnd === bytes.length && to < end) {
      return size > store.maxRecordSize ? readInContext(store, seq, cb) : readSize(store, seq, 4 * size, cb)
    }
    const textEnd = withoutReturn(bytes, before, lineEnd)
    if (textEnd === before || textEnd - before > store.maxRecordSize) return readInContext(store, seq, cb)
    // The reader compares the whole pages with their checksums.
    const hasSeen = store.pages?.hasSeen(seq, seq + lineEnd + 1 - before) ?? true
    if (!hasSeen) return readInContext(store, seq, cb)
    cb(null, { data: bytes.subarray(before, textEnd), isDeleted: false })
  })
}

/**
 * Reads from the start of the line that the seq is in, so that no part of a line is taken for one.
 * @type {(store: LinesStore, seq: number, cb: FoundCallback) => void}
 */
function readInContext (store, seq, cb) {
  locateLine(store, seq, false, (err, position = 0) => {
    if (err) return cb(err)
    const range = { from: seq, stop: seq + 1, reverse: false, skipsDamage: position < seq }
    const reader = new LinesReader(store, range, position)
    reader.next(store.end, (err, records) => {
      if (err || !records) return cb(err)
      if (records.count === 0 || records.seqs[0] !== seq) return cb(notFound('get', store.blocks.path, seq))
      cb(null, { data: Buffer.from(records.buffer.subarray(records.starts[0], records.ends[0])), isDeleted: false })
    })
  })
}

/**
 * The offset of the line break, or `end`. A line with a zero byte seems to end where it begins.
 * @type {(bytes: Buffer, start: number, end: number) => number}
 */
function findEnd (bytes, start, end) {
  for (let at = start; at < end; at++) {
    if (bytes[at] === LINE_FEED) return at
    if (bytes[at] === 0) return start
  }
  return end
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
    const wish = Math.min(WISH, end - position)
    if (!peeker.look(position, wish, wish, seq === this.#nextSeq)) return false
    let lineEnd = this.#findEnd(position, before)
    for (let size = 4 * WISH; lineEnd === NOWHERE && size <= READ_SIZE_MAX; size *= 4) {
      if (!peeker.read(position, Math.min(size, end - position))) return false
      lineEnd = this.#findEnd(position, before)
    }
    const { bytes, offset } = peeker
    const start = offset + before
    if (lineEnd <= start || (before > 0 && bytes[offset] !== LINE_FEED)) return false
    const textEnd = withoutReturn(bytes, start, lineEnd)
    if (textEnd === start || textEnd - start > maxRecordSize) return false
    if (!this.#hasSeen(seq, seq + lineEnd + 1 - start)) return false
    this.#nextSeq = seq + lineEnd - start + 1
    this.start = start
    this.end = textEnd
    return true
  }

  /** Whether these bytes need not be compared with their checksums. @type {(start: number, end: number) => boolean} */
  #hasSeen (start, end) {
    const { pages, failure } = this.#store
    return failure === null && (pages === null || pages.hasSeen(start, end))
  }

  /**
   * In the bytes of the last look; NOWHERE if they do not reach it.
   * @type {(position: number, before: number) => number}
   */
  #findEnd (position, before) {
    const { bytes, offset, size } = this.#peeker
    const { end } = this.#store
    const heldEnd = offset + Math.min(size, end - position)
    const found = findEnd(bytes, offset + before, heldEnd)
    return found === heldEnd && position + heldEnd - offset < end ? NOWHERE : found
  }
}

exports.LinePeeker = LinePeeker
exports.readLine = readLine
