'use strict'
// Beside a writer a chunk may look damaged while it is being erased. So before anything counts as damaged the head is
// read anew, since it says what is being erased, and the bytes too, until they stay the same.

const { LogError } = require('@millrace/errors')
const { readHead } = require('../head')
const { rememberErasures } = require('../eraser')
const { endOfPage, isZeroIn } = require('./find-header')
const { haveSameJournals, readHeadBytes } = require('./read-source')

// A change takes less than this.
const PAUSE_MS = 10
// Where nothing has changed so often, nobody is writing: the bytes are still read again, but at once.
const PAUSES_MAX = 20
// What is never the same when it is read is not being erased: that is done once.
const LOOKS_MAX = 50

/**
 * @typedef {import('./read-source').Source} Source
 * @typedef {import('./find-header').Window} Window
 */

class Confirmation {
  /** @param {Source} source */
  constructor (source) {
    this._source = source
    this._head = source.head.bytes
    /** What was looked at last, and found to stay as it is. */
    this._start = 0
    this._end = 0
    this._pausesLeft = PAUSES_MAX
    /** Where it was looked before that, and how often. */
    this._lookStart = 0
    this._lookCount = 0
    /** Whether the head has changed since it was read first. */
    this.hasHeadChanged = false
  }

  /**
   * @param {Window} window  the bytes as they were read
   * @param {number} start  of what looks damaged
   * @param {number} limit  how far the file is read
   * @param {(err: Error | null, hasChanged?: boolean) => void} cb  whether to look again, with bytes read anew
   */
  confirm (window, start, limit, cb) {
    const end = Math.min(limit, endOfPage(start))
    if (start >= this._start && end <= this._end) return cb(null, false)
    // Nothing is zeros while it is being erased, since every chunk keeps a header.
    if (window.end >= end && isZeroIn(window, start, end)) return cb(null, false)
    this._lookCount = this._lookStart === start ? this._lookCount + 1 : 1
    this._lookStart = start
    if (this._lookCount > LOOKS_MAX) return this._settle(start, end, cb)
    // What is being erased was finished in the window: so it is read again in any case.
    const isAsRead = window.end >= end && !this._source.unfinished.has(start)
    if (!isAsRead && this._lookCount === 1) return this._refreshHead((err) => cb(err, true))
    const before = isAsRead ? Buffer.from(window.buffer.subarray(start - window.start, end - window.start)) : null
    this._look(start, end, before, cb)
  }

  /** @param {(err: Error | null) => void} cb  `hasHeadChanged` is true if it has */
  checkHead (cb) {
    this._refreshHead((err) => cb(err))
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Buffer | null} before  null when it is not known what the file has there
   * @param {(err: Error | null, hasChanged?: boolean) => void} cb
   */
  _look (start, end, before, cb) {
    this._refreshHead((err, hasHeadChanged) => {
      if (err) return cb(err)
      const now = Buffer.allocUnsafe(end - start)
      this._source.blocks.readInto(now, start, (err) => {
        if (err) return cb(err)
        if (hasHeadChanged || (before !== null && !now.equals(before))) {
          this._pausesLeft = PAUSES_MAX
          return cb(null, true)
        }
        if (this._pausesLeft === 0) return this._settle(start, end, cb)
        this._pausesLeft--
        setTimeout(() => this._lookAgain(start, end, now, cb), PAUSE_MS)
      })
    })
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Buffer} before
   * @param {(err: Error | null, hasChanged?: boolean) => void} cb
   */
  _lookAgain (start, end, before, cb) {
    this._refreshHead((err, hasHeadChanged) => {
      if (err) return cb(err)
      const now = Buffer.allocUnsafe(end - start)
      this._source.blocks.readInto(now, start, (err) => {
        if (err) return cb(err)
        if (hasHeadChanged || !now.equals(before)) cb(null, true)
        else this._settle(start, end, cb)
      })
    })
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {(err: null, hasChanged: boolean) => void} cb
   */
  _settle (start, end, cb) {
    this._start = start
    this._end = end
    cb(null, false)
  }

  /** @param {(err: Error | null, hasChanged?: boolean) => void} cb */
  _refreshHead (cb) {
    const { _source: source } = this
    readHeadBytes(source.blocks, (err, bytes) => {
      if (err || !bytes) return cb(err)
      if (bytes.equals(this._head)) return cb(null, false)
      const isErasing = !haveSameJournals(bytes, this._head)
      this._head = bytes
      this.hasHeadChanged = true
      const head = readHead(bytes, source.blocks.path)
      // A part that is being written cannot be read: the next look finds it whole.
      if (isErasing && !(head instanceof LogError)) {
        source.unfinished.clear()
        rememberErasures(source, head.journals)
      }
      cb(null, isErasing)
    })
  }
}

exports.Confirmation = Confirmation
