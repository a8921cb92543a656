'use strict'
// What the newest slot says of the log, what has become of the log since, and which slot has to be written next: before
// a change of what is covered, and after a sync.

const { blocksOf } = require('./block-ranges')
const { BLOCK_SIZE } = require('./layout')
const { blocksIn } = require('./overwrite')

/**
 * @typedef {import('./overwrite').Overwrite} Overwrite
 * @typedef {import('./sidecar-file').Plan} Plan
 * @typedef {import('./sidecar-file').SidecarFile} SidecarFile
 * @typedef {import('./sums').Sums} Sums
 * @typedef {(err: Error | null) => void} Done
 */

class Coverage {
  /**
   * @param {Sums} sums
   * @param {SidecarFile} file
   */
  constructor (sums, file) {
    this._sums = sums
    this._file = file
    /** How much of the log is on stable storage, and in the newest slot. */
    this.covered = { end: file.slot.end, tailSum: file.slot.tailSum }
    /** Whether nothing has changed since the last sync that was covered. */
    this.isSynced = true
    /** @type {Map<number, number>} blocks that a failed write left half written, with the sums they had */
    this.doubtful = new Map()
    /** @type {Set<number>} blocks that the newest slot says may be changing */
    this._listed = new Set(blocksOf(file.slot.changing, sums.blockCount))
    /** @type {Set<number>} blocks that are going to be overwritten soon: they are listed with the first of them */
    this._announced = new Set()
    /** @type {Set<number>} blocks whose sums have changed since the last slot */
    this._touched = new Set()
  }

  /**
   * Says that these ranges are going to be overwritten, so that it need not be written down for each on its own.
   * @param {Array<{ start: number, end: number }>} ranges
   */
  announce (ranges) {
    for (const { start, end } of ranges) for (const index of blocksIn(start, end)) this._announced.add(index)
  }

  /**
   * Blocks whose sums were found anew: the next slot has them.
   * @param {number[]} blocks
   */
  noteSummed (blocks) {
    for (const index of blocks) this._touched.add(index)
    this.isSynced = false
  }

  /**
   * @param {Overwrite} overwrite  that is over
   * @param {Error | null} err
   */
  noteOverwritten (overwrite, err) {
    for (const index of overwrite.blocks) {
      this._touched.add(index)
      this._announced.delete(index)
    }
    if (err) overwrite.fail(this.doubtful)
    else overwrite.settle(this.doubtful)
  }

  /**
   * The log was cut off.
   * @param {number} end
   * @param {number} tailSum
   */
  noteCut (end, tailSum) {
    this._sums.cut(end, tailSum)
    const { blockCount } = this._sums
    for (const index of this.doubtful.keys()) if (index >= blockCount) this.doubtful.delete(index)
    for (const index of this._touched) if (index >= blockCount) this._touched.delete(index)
  }

  /**
   * Before the first change after the log was opened, and before any change of what is covered.
   * @param {number[]} blocks  that are going to be overwritten, from `position` on
   * @param {number} position
   * @param {Done} cb  of a success it may run before `permit` returns
   */
  permit (blocks, position, cb) {
    const { error } = this._file
    const permission = this._planPermission(blocks, position)
    if (error) return process.nextTick(cb, error)
    if (permission === null) return cb(null)
    this._file.run(permission.plan, (err) => {
      if (!err) this._listed = permission.changing
      cb(err)
    })
  }

  /**
   * The same, blocking.
   * @param {number[]} blocks
   * @param {number} position
   */
  permitSync (blocks, position) {
    const permission = this._planPermission(blocks, position)
    if (this._file.error) throw this._file.error
    if (permission === null) return
    this._file.runSync(permission.plan)
    this._listed = permission.changing
  }

  /**
   * Before the log is cut off.
   * @param {number} end
   * @param {number} tailSum
   * @param {Done} cb  nothing that is to be cut is covered any more
   */
  uncover (end, tailSum, cb) {
    if (end >= this.covered.end) return this.permit([], end, cb)
    this.isSynced = false
    const change = { end, tailSum, changing: this._listed, modifiedNs: null, isTwice: true }
    this._file.run(this._file.plan(change, this._sums), (err) => {
      if (!err) this.covered = { end, tailSum }
      cb(err)
    })
  }

  /**
   * After a sync of the log.
   * @param {Done} cb
   */
  cover (cb) {
    const plan = this._planCover()
    if (plan === null) return cb(null)
    this._file.run(plan, (err) => {
      if (!err) this._noteCovered(plan)
      cb(err)
    })
  }

  /** The same, blocking. */
  coverSync () {
    const plan = this._planCover()
    if (plan === null) return
    this._file.runSync(plan)
    this._noteCovered(plan)
  }

  /**
   * The log is being closed.
   * @param {bigint} modifiedNs  when it was written last; 0 when that is not known
   * @param {Done} cb
   */
  finish (modifiedNs, cb) {
    const { end, tailSum } = this._sums
    const changing = this.doubtful.keys()
    this._file.run(this._file.plan({ end, tailSum, changing, modifiedNs, isTwice: true }, this._sums), cb)
  }

  /**
   * @param {number[]} blocks
   * @param {number} position
   * @returns {{ plan: Plan, changing: Set<number> } | null}  null when the newest slot permits it
   */
  _planPermission (blocks, position) {
    this.isSynced = false
    const isCovered = (/** @type {number} */ index) => index * BLOCK_SIZE < this.covered.end
    // Behind what is covered the last block may change: its sum is of what comes before.
    const needed = position < this.covered.end ? blocks.filter(isCovered) : []
    const isListed = needed.every((index) => this._listed.has(index))
    if (isListed && !this._file.slot.isClean) return null
    const announced = isListed ? [] : [...this._announced].filter(isCovered)
    const changing = new Set([...this._listed, ...needed, ...announced])
    const change = { ...this.covered, changing, modifiedNs: null, isTwice: !isListed }
    return { plan: this._file.plan(change, this._sums), changing }
  }

  /** @returns {Plan | null}  null when the newest slot says it all */
  _planCover () {
    const { end, tailSum } = this._sums
    const isListSame = this._listed.size === this.doubtful.size
    if (end === this.covered.end && isListSame && this._touched.size === 0) {
      this.isSynced = true
      return null
    }
    const change = { end, tailSum, changing: this.doubtful.keys(), modifiedNs: null, touched: this._touched }
    return this._file.plan(change, this._sums)
  }

  /** @param {Plan} plan */
  _noteCovered ({ slot: { end, tailSum } }) {
    this.covered = { end, tailSum }
    this._listed = new Set(this.doubtful.keys())
    this._touched.clear()
    this.isSynced = true
  }
}

exports.Coverage = Coverage
