'use strict'
// Ranges of a legacy file that are known to be bad from elsewhere, since its own bytes do not show it.

/** @typedef {{ start: number, end: number }} Range  in the file */

class Suspects {
  /** @param {Range[]} ranges  in order */
  constructor (ranges) {
    this._ranges = ranges
    this._next = 0
  }

  /**
   * @param {number} start  not before that of the last call
   * @param {number} end
   * @returns {boolean}  whether any of these bytes is bad
   */
  touches (start, end) {
    const { _ranges: ranges } = this
    while (this._next < ranges.length && ranges[this._next].end <= start) this._next++
    return this._next < ranges.length && ranges[this._next].start < end
  }
}

exports.Suspects = Suspects
