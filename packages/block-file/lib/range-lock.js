'use strict'
// Keeps reads and overwrites of the same bytes apart, so that nobody reads a half-written range. Appends need no lock:
// nothing past the file's size is ever read.

/** @typedef {{ start: number, end: number }} Range */

class RangeLock {
  constructor () {
    /** @type {Set<Range>} */
    this._readers = new Set()
    // Writes come one at a time, from the writer's queue; this one is running or waiting for its readers to leave.
    /** @type {(Range & { run: (() => void) | null }) | null} */
    this._writer = null
    /** @type {Array<{ range: Range, run: (release: () => void) => void }>} */
    this._waiting = []
  }

  /**
   * @param {number} start
   * @param {number} end
   * @returns {boolean}  whether a read that is over before anything else can run needs no lock
   */
  isFree (start, end) {
    return this._writer === null || end <= this._writer.start || start >= this._writer.end
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {(release: () => void) => void} run  runs at once when no overwrite of these bytes is near
   */
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

  /**
   * @param {number} start
   * @param {number} end
   * @param {(release: () => void) => void} run  runs once the reads of these bytes that had begun are over
   */
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
