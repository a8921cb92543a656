'use strict'
// Makes a failing case smaller while it goes on failing in the same way: fewer bytes, and more of them zero.

/**
 * @typedef {import('./examine').Sample} Sample
 */

const TRIES_MAX = 3000
const SHRINK_MS_MAX = 10_000

class Shrinker {
  /**
   * @param {(sample: Sample) => Promise<boolean>} fails  whether a case fails as the first one did
   * @param {() => number} now
   */
  constructor (fails, now) {
    this._fails = fails
    this._now = now
    this._endMs = now() + SHRINK_MS_MAX
    this._triesLeft = TRIES_MAX
  }

  /**
   * @param {Sample} sample
   * @returns {Promise<Sample>}
   */
  async shrink (sample) {
    let best = sample
    for (const change of [cutRange, clearRange]) {
      for (let size = 2 ** Math.ceil(Math.log2(best.bytes.length + 1)); size >= 1; size = size >> 1) {
        best = await this._tryRanges(best, size, change)
      }
    }
    return best
  }

  /**
   * @param {Sample} sample
   * @param {number} size
   * @param {(bytes: Buffer, start: number, end: number) => Buffer | null} change
   */
  async _tryRanges (sample, size, change) {
    let best = sample
    for (let end = best.bytes.length; end > 0 && !this._isOver(); end -= size) {
      const bytes = change(best.bytes, Math.max(0, end - size), end)
      if (bytes === null) continue
      this._triesLeft--
      const smaller = { ...best, bytes }
      if (await this._fails(smaller)) best = smaller
    }
    return best
  }

  _isOver () {
    return this._triesLeft <= 0 || this._now() > this._endMs
  }
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 */
function cutRange (bytes, start, end) {
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 * @param {number} end
 * @returns {Buffer | null}  null when it is all zeros
 */
function clearRange (bytes, start, end) {
  if (bytes.subarray(start, end).every((byte) => byte === 0)) return null
  return Buffer.from(bytes).fill(0, start, end)
}

exports.Shrinker = Shrinker
