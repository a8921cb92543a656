'use strict'
// The file of a sidecar, open for writing. What has to be written for a new slot is planned first, and then done either
// at once or through the pool; when it fails, nothing more is written.

const { writeWhole, writeWholeSync } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { eachInOrder } = require('../each-in-order')
const { toRanges } = require('./block-ranges')
const { BLOCK_SIZE, RANGE_COUNT_MAX, SUMS_PER_PAGE, pageCountOf, pagePosition, slotPosition } = require('./layout')
const { encodeSlot } = require('./slot')
const { encodePage } = require('./sums-page')

/**
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('./slot').Slot} Slot
 * @typedef {import('./sums').Sums} Sums
 * @typedef {{ encode: () => Buffer, position: number } | null} Step  a write; null syncs
 * @typedef {{ steps: Step[], slot: Slot }} Plan  what to do, and the slot that is the newest then
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @typedef {object} Change
 * @property {number} end  how much of the log is covered
 * @property {number} tailSum
 * @property {Iterable<number>} changing  blocks that may change before the next slot, or were left half changed
 * @property {bigint | null} modifiedNs  of the log when it is clean, 0 when not known; null when it is not clean
 * @property {Iterable<number>} [touched]  blocks whose sums have changed
 * @property {boolean} [isTwice]  whether both slots are to say so: whoever finds one of them damaged must not take the
 *   other for the truth when it is not any more
 */

class SidecarFile {
  /**
   * @param {StorageHandle} handle
   * @param {string} path
   * @param {Slot} slot  the newest
   */
  constructor (handle, path, slot) {
    this._handle = handle
    this._path = path
    /** @type {Slot} the newest that is on stable storage */
    this.slot = slot
    /** @type {Set<number>} pages that have to be written once more */
    this.unequalPages = new Set()
    /** @type {LogError | null} why nothing more is written */
    this.error = null
  }

  /**
   * Pages come first, one copy after the other; between the copies, and before a slot relies on them, they are synced.
   * @param {Change} change
   * @param {Sums} sums
   * @returns {Plan}
   */
  plan ({ end, tailSum, changing, modifiedNs, touched = [], isTwice = false }, sums) {
    const { sequence } = this.slot
    const pageCount = pageCountOf(end)
    const pages = this._pagesFor(end, touched).map((index) => {
      const first = index * SUMS_PER_PAGE
      const page = { index, sequence: sequence + 1, sums: sums.slice(first, first + SUMS_PER_PAGE) }
      const bytes = encodePage(page, this.slot.salt)
      return { index, encode: () => bytes }
    })
    /** @type {Slot} */
    const slot = {
      ...this.slot,
      sequence: sequence + 1,
      isClean: modifiedNs !== null,
      modifiedNs: modifiedNs ?? 0n,
      end,
      tailSum,
      sums: Uint32Array.from(sums.slice(pageCount * SUMS_PER_PAGE, fullBlockCount(end))),
      changing: toRanges(changing, RANGE_COUNT_MAX)
    }
    const newest = isTwice ? { ...slot, sequence: sequence + 2 } : slot
    /** @type {Step[]} */
    const steps = pages.map(({ index, encode }) => ({ encode, position: pagePosition(index, 0) }))
    if (pages.length > 0) steps.push(null)
    steps.push(...pages.map(({ index, encode }) => ({ encode, position: pagePosition(index, 1) })))
    for (const each of isTwice ? [slot, newest] : [slot]) {
      // It says when it is written: not before the syncs that come first.
      const encode = () => encodeSlot({ ...each, writtenMs: Date.now() })
      steps.push({ encode, position: slotPosition(each.sequence) }, null)
    }
    return { steps, slot: newest }
  }

  /**
   * @param {Plan} plan
   * @param {Done} cb  may run before `run` returns
   */
  run ({ steps, slot }, cb) {
    if (this.error) return cb(this.error)
    eachInOrder(steps, (step, done) => {
      if (step === null) this._handle.sync(done)
      else writeWhole(this._handle, step.encode(), step.position, done)
    }, (err) => {
      if (err) return cb(this._fail(err))
      this._done(slot)
      cb(null)
    })
  }

  /**
   * The same, blocking.
   * @param {Plan} plan
   */
  runSync ({ steps, slot }) {
    if (this.error) throw this.error
    const { writeSync, syncSync } = this._handle
    try {
      for (const step of steps) {
        if (step === null) syncSync?.()
        else if (writeSync) writeWholeSync(writeSync, step.encode(), step.position)
      }
    } catch (err) {
      throw this._fail(/** @type {Error} */ (err))
    }
    this._done(slot)
  }

  /** @param {Done} cb */
  close (cb) {
    this._handle.close((err) => cb(err))
  }

  /**
   * @param {number} end
   * @param {Iterable<number>} touched
   * @returns {number[]}  the pages that have become full, or whose sums have changed
   */
  _pagesFor (end, touched) {
    const pageCount = pageCountOf(end)
    const pages = new Set(this.unequalPages)
    for (let index = pageCountOf(this.slot.end); index < pageCount; index++) pages.add(index)
    for (const block of touched) pages.add(Math.floor(block / SUMS_PER_PAGE))
    return [...pages].filter((index) => index < pageCount)
  }

  /** @param {Slot} slot */
  _done (slot) {
    this.slot = slot
    this.unequalPages.clear()
  }

  /**
   * What the kernel could not write it forgets: nothing that is read back from there proves anything any more.
   * @param {Error} cause
   * @returns {LogError}
   */
  _fail (cause) {
    const code = /** @type {any} */ (cause).code ?? 'EIO'
    this.error = new LogError(code, `the sidecar ${this._path} could not be written (${cause.message}); check the disk, ` +
      'and open the log again', { cause, path: this._path })
    return this.error
  }
}

/** @param {number} end */
function fullBlockCount (end) {
  return Math.floor(end / BLOCK_SIZE)
}

exports.SidecarFile = SidecarFile
