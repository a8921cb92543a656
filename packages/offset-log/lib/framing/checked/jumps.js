'use strict'
// Where positions were left out, behind unclean ends, since the log was opened: from there on they are further ahead of
// their places in the file than they were before.

class Jumps {
  constructor () {
    /** @type {Array<{ start: number, position: number, shift: number }>} */
    this._jumps = []
  }

  /**
   * @param {{ end: number, shift: number }} tail  in front of it
   * @param {number} shift  behind it
   */
  note ({ end, shift: before }, shift) {
    this._jumps.push({ start: end, position: end + shift, shift: before })
  }

  /**
   * @param {number} logEnd  a logical position at or after the log's end when it was opened
   * @param {{ end: number, tail: { shift: number } }} store
   * @returns {number}  how far the log reaches in the file
   */
  toPhysicalEnd (logEnd, { end, tail }) {
    for (const { start, position, shift } of this._jumps) {
      if (logEnd <= position) return Math.min(end, start, logEnd - shift)
    }
    return Math.min(end, logEnd - tail.shift)
  }
}

exports.Jumps = Jumps
