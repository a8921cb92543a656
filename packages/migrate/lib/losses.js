'use strict'
// What a pass over a source has left out because it is damaged.

// Whoever makes a file of nothing but damage must not fill the memory of who reads it.
const RANGE_COUNT_MAX = 1000

/** @typedef {{ what: string, offset: number, size: number }} LostRange */

class Losses {
  constructor () {
    /** How many ranges of the file. */
    this.count = 0
    /** How many bytes. */
    this.size = 0
    /** @type {LostRange[]} the first of them, where they can be told */
    this.ranges = []
  }

  /**
   * @param {string} what  is wrong
   * @param {number} offset  in the file
   * @param {number} size  in bytes
   */
  add (what, offset, size) {
    this.count++
    this.size += size
    if (this.ranges.length < RANGE_COUNT_MAX) this.ranges.push({ what, offset, size })
  }
}

exports.Losses = Losses
