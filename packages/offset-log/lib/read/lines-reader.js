'use strict'
// Reads the lines of a range, in either direction, a run at a time.

const { trampoline } = require('@millrace/flow')
const { LineWalk, damageError } = require('@millrace/framing')
const { RecordRun } = require('../record-run')

const LINE_FEED = 10
const SEARCH_SIZE = 512

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {import('@millrace/framing').Damage} Damage
 */

class LinesReader {
  #store
  #from
  #stop
  #reverse
  #skipsDamage
  #window
  #records = new RecordRun()
  #walk
  /** The next call fails with it. @type {Error | null} */
  #error = null

  /**
   * @param {LinesStore} store
   * @param {import('./record-reader').StoreRange} range
   * @param {number} position  where to begin: the start of a line, or the end of one if the range is reversed
   */
  constructor (store, { from, stop, reverse, skipsDamage = false, keepsBytes }, position) {
    this.#store = store
    this.#from = from
    this.#stop = stop
    this.#reverse = reverse
    this.#skipsDamage = skipsDamage
    this.#window = store.blocks.createSpanReader({ givesBuffers: keepsBytes })
    this.#walk = new LineWalk(position, store.start, store.maxRecordSize)
    /** The holes that were skipped, and their bytes. */
    this.lost = { count: 0, size: 0 }
  }

  /** Runs give no bytes to keep from now on: the reader waits at the end. */
  stopKeepingBytes () {
    this.#window.settle()
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    if (this.#error !== null) return false
    const { position } = this.#walk
    return this.#reverse ? position <= Math.max(this.#from, this.#store.start) : position >= this.#stop
  }

  /** The part of the range that is not delivered yet. */
  get left () {
    return { lowest: this.#from, stop: this.#stop }
  }

  /**
   * Continues from a delivered record, with bytes read anew.
   * @param {number} index  in the run
   */
  rewindTo (index) {
    const { seqs, starts, ends } = this.#records
    const seq = seqs[index]
    this.#error = null
    this.#walk.restart(this.#reverse ? seq + ends[index] - starts[index] : seq)
    this.#window.forget()
  }

  /**
   * @param {number} fileEnd  the end of the log, for a forward reader
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is valid until the next call, and empty only
   *   at the end. Damage is reported after the records in front of it. May run before `next` returns
   */
  next (fileEnd, cb) {
    const records = this.#records
    const walk = this.#walk
    records.clear()
    for (;;) {
      if (this.#error !== null) return cb(this.#error)
      this.#walkWindow(fileEnd)
      if (records.count > 0) return cb(null, records)
      if (this.#error !== null) continue
      if (walk.need === 0) {
        if (walk.damage === null && this.#isAtEnd(fileEnd)) return cb(null, records)
        continue
      }
      if (!this.#reverse && this.#window.loadForwardNow(walk.position, walk.need, fileEnd)) continue
      let isLoaded = false
      let isSync = true
      this.#load(fileEnd, (err) => {
        if (err) return cb(err)
        isLoaded = true
        if (!isSync) this.next(fileEnd, cb)
      })
      isSync = false
      if (!isLoaded) return
    }
  }

  /** @param {number} fileEnd */
  #walkWindow (fileEnd) {
    const window = this.#window
    const walk = this.#walk
    const records = this.#records
    walk.damage = null
    if (this.#isAtEnd(fileEnd)) {
      walk.need = 0
      return
    }
    // The byte at the position, or before it, must be there.
    const isHeld = this.#reverse
      ? window.start < walk.position && window.end >= walk.position
      : window.start <= walk.position && window.end > walk.position
    if (!isHeld) {
      walk.need = SEARCH_SIZE
      return
    }
    records.buffer = window.buffer
    if (this.#reverse) walk.backward(window, this.#from, records)
    else walk.forward(window, this.#stop, fileEnd, records)
    // The first line may have begun before the range, or end behind it.
    if (records.count > 0 && (records.seqs[0] < this.#from || records.seqs[0] >= this.#stop)) {
      records.filter((bytes, start, end, seq) => seq >= this.#from && seq < this.#stop)
    }
    if (walk.error !== null) this.#error = walk.error
    if (walk.damage !== null) this.#meet(walk.damage)
  }

  /** @param {Damage} damage */
  #meet (damage) {
    const { start, end } = damage
    if (end <= this.#from || start >= this.#stop) return
    if (this.#skipsDamage) {
      this.lost.count++
      this.lost.size += end - start
    } else {
      this.#error = damageError(damage, this.#store.blocks.path)
    }
  }

  /** @param {number} fileEnd */
  #isAtEnd (fileEnd) {
    const { position } = this.#walk
    const isPastRange = this.#reverse ? this.isDone : position >= this.#stop
    return (isPastRange && !this.#walk.isInHole) || (!this.#reverse && position >= fileEnd)
  }

  /** @type {(fileEnd: number, cb: (err: Error | null) => void) => void} */
  #load (fileEnd, cb) {
    const { position, need } = this.#walk
    if (this.#reverse) this.#window.loadBackward(position, need, this.#store.start, cb)
    else this.#window.loadForward(position, need, fileEnd, cb)
  }
}

// Finds the line for a bound, which may lie within one.

/**
 * @param {LinesStore} store
 * @param {number} bound  any number
 * @param {boolean} reverse
 * @param {(err: Error | null, position?: number) => void} cb  where the line begins that holds the bound; in reverse,
 *   where the line ends that holds the byte before it
 */
function locateLine (store, bound, reverse, cb) {
  const { start, end } = store
  if (bound <= start) cb(null, start)
  else if (bound >= end) cb(null, end)
  else if (reverse) findLineEnd(store, bound - 1, cb)
  else findLineStart(store, bound, cb)
}

/**
 * @typedef {(err: Error | null, position?: number) => void} Found
 * @type {(store: Pick<LinesStore, 'blocks' | 'start'>, position: number, cb: Found) => void}
 */
function findLineStart ({ blocks, start }, position, cb) {
  const window = blocks.createSpanReader()
  let at = position
  trampoline((next) => {
    if (at <= start) return cb(null, start)
    window.loadBackward(at, SEARCH_SIZE, start, (err) => {
      if (err) return cb(err)
      const found = window.buffer.lastIndexOf(LINE_FEED, at - window.start - 1)
      if (found !== -1) return cb(null, window.start + found + 1)
      at = window.start
      next()
    })
  })
}

/** @type {(store: LinesStore, position: number, cb: Found) => void} */
function findLineEnd ({ blocks, end }, position, cb) {
  const window = blocks.createSpanReader()
  let at = position
  trampoline((next) => {
    if (at >= end) return cb(null, end)
    window.loadForward(at, SEARCH_SIZE, end, (err) => {
      if (err) return cb(err)
      const found = window.buffer.indexOf(LINE_FEED, at - window.start)
      if (found !== -1 && window.start + found < Math.min(window.end, end)) return cb(null, window.start + found + 1)
      at = Math.min(window.end, end)
      next()
    })
  })
}

exports.LinesReader = LinesReader
exports.findLineStart = findLineStart
exports.locateLine = locateLine
