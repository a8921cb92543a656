'use strict'
// Appends that wait, in order, already divided into what will be written together.

const { AppendGroup } = require('./append-group')

// One is being written and one filled, or two if the writer has more than enough to do.
const SPARE_COUNT_MAX = 3
// Lists of more records than these are not kept: there are so many only where records are tiny.
const KEPT_COUNT_MAX = 16 * 1024

class AppendQueue {
  /** @param {number} sizeMax  bytes of frames in a group, unless one append has more */
  constructor (sizeMax) {
    this._sizeMax = sizeMax
    /** @type {AppendGroup[]} */
    this._groups = []
    /** The last of them. @type {AppendGroup | null} */
    this._last = null
    /** @type {AppendGroup[]} */
    this._spare = []
  }

  get isEmpty () {
    return this._last === null
  }

  /**
   * @param {number} size  of an append's frames; 0 if it only waits for those before it
   * @returns {AppendGroup}  where it is to be added
   */
  groupFor (size) {
    const last = this._last
    // Those that only wait are in groups of their own: all before them must be written.
    if (last !== null && last.size + size <= this._sizeMax && (last.size === 0) === (size === 0)) return last
    const next = this._spare.pop() ?? new AppendGroup()
    this._groups.push(next)
    return (this._last = next)
  }

  /** @returns {AppendGroup | null}  the first one, which gets no more; null if none waits */
  take () {
    const group = this._groups.shift() ?? null
    if (group === this._last) this._last = null
    return group
  }

  /** @param {AppendGroup} group  one that was taken, and that nobody uses any more */
  giveBack (group) {
    group.clear()
    const isLarge = group.records.length > KEPT_COUNT_MAX || group.dones.length > KEPT_COUNT_MAX
    if (!isLarge && this._spare.length < SPARE_COUNT_MAX) this._spare.push(group)
  }
}

exports.AppendQueue = AppendQueue
