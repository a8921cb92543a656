'use strict'
// RangeLock keeps reads and overwrites of the same bytes apart, so that no reader sees a half-written range. Appends
// need no lock: nobody reads past the file's size.

/** @typedef {{ start: number, end: number }} Range */

class RangeLock {
  constructor () {
    /** @type {Set<Range>} */
    this._readers = new Set()
    // The one write that is running, or waiting until its readers are done. The writer's queue admits no second one.
    /** @type {(Range & { run: (() => void) | null }) | null} */
    this._writer = null
    /** @type {Array<{ range: Range, run: (release: () => void) => void }>} */
    this._waiting = []
  }

  /** Whether a synchronous read of the range needs no lock. @type {(start: number, end: number) => boolean} */
  isFree (start, end) {
    return this._writer === null || end <= this._writer.start || start >= this._writer.end
  }

  // Calls `run` at once, unless an overwrite of these bytes is running or waiting.
  /** @type {(start: number, end: number, run: (release: () => void) => void) => void} */
  read (start, end, run) {
    const range = { start, end }
    if (!this.isFree(start, end)) {
      this._waiting.push({ range, run })
      return
    }
    this._readers.add(range)
    run(() => {
      this._readers.delete(range)
      this._startWriter()
    })
  }

  // Calls `run` once the running reads of these bytes are done.
  /** @type {(start: number, end: number, run: (release: () => void) => void) => void} */
  write (start, end, run) {
    this._writer = { start, end, run: () => run(() => this._endWriter()) }
    this._startWriter()
  }

  _startWriter () {
    const writer = this._writer
    if (writer === null || writer.run === null) return
    for (const reader of this._readers) {
      if (reader.start < writer.end && reader.end > writer.start) return
    }
    const { run } = writer
    writer.run = null
    run()
  }

  _endWriter () {
    this._writer = null
    const waiting = this._waiting
    this._waiting = []
    for (const { range, run } of waiting) this.read(range.start, range.end, run)
  }
}

exports.RangeLock = RangeLock
