'use strict'
// Reads the lines of a range, in either direction, a run at a time.

const { trampoline } = require('@millrace/flow')
const { LineWalk, SUMMED_SIZE, damageError } = require('@millrace/framing')
const { RecordRun } = require('../record-run')

const LINE_FEED = 10
const SEARCH_SIZE = 512

/**
 * @typedef {import('../lines-store').LinesStore} LinesStore
 * @typedef {import('@millrace/framing').Damage} Damage
 */

function ignore () {}

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
  /** Where the part of the window begins whose pages were compared with their checksums, and where it ends. */
  #checkedStart = 0
  #checkedEnd = 0
  /** The starts of the pages that do not have their checksums. @type {number[]} */
  #badPages = []

  /**
   * @param {LinesStore} store
   * @param {import('./checked-reader').StoreRange} range
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
    /** The damage that was skipped, and its bytes. */
    this.lost = { count: 0, size: 0 }
    /** Gets what is skipped. @type {(damage: Damage) => void} */
    this.onDamage = ignore
  }

  /** Runs give no bytes to keep from now on: the reader waits at the end. */
  stopKeepingBytes () {
    this.#window.settle()
    this.#checkedStart = this.#checkedEnd = 0
  }

  /** Whether no record of the range can follow, now or later. */
  get isDone () {
    if (this.#error !== null) return false
    const { position } = this.#walk
    return this.#reverse ? position <= Math.max(this.#from, this.#store.start) : position >= this.#stop
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
    this.#checkedStart = this.#checkedEnd = 0
  }

  /**
   * @param {number} fileEnd  the end of the log, for a forward reader
   * @param {(err: Error | null, records?: RecordRun) => void} cb  the run is valid until the next call, and empty only
   *   at the end. Damage is reported after the records before it. May run before `next` returns
   */
  next (fileEnd, cb) {
    const records = this.#records
    const walk = this.#walk
    records.clear()
    for (;;) {
      this.#error ??= this.#store.failure
      if (this.#error !== null) return cb(this.#error)
      this.#walkWindow(fileEnd)
      if (records.count > 0) return cb(null, records)
      if (this.#error !== null) continue
      if (walk.need === 0) {
        if (walk.damage === null && this.#isAtEnd(fileEnd)) return cb(null, records)
        continue
      }
      if (!this.#reverse && this.#loadForwardNow(fileEnd)) continue
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
    // The first line may have begun before the range, or end after it.
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
    const found = { start, end, fault: this.#faultOf(damage) }
    if (this.#skipsDamage) {
      this.lost.count++
      this.lost.size += end - start
      this.onDamage(found)
    } else {
      this.#error = damageError(found, this.#store.blocks.path)
    }
  }

  /** Why it is damage. @type {(damage: Damage) => Damage['fault']} */
  #faultOf ({ start, end, fault }) {
    if (this.#badPages.some((page) => page < end && page + SUMMED_SIZE > start)) return 'SUMS'
    return fault === 'HOLE' && end <= this.#store.promisedEnd ? 'PROMISED_HOLE' : fault
  }

  /** @param {number} fileEnd */
  #isAtEnd (fileEnd) {
    const { position } = this.#walk
    const isPastRange = this.#reverse ? this.isDone : position >= this.#stop
    return (isPastRange && !this.#walk.isInHole) || (!this.#reverse && position >= fileEnd)
  }

  // If the log has checksums, the window is made of whole pages, but for the end of the log.

  /** @param {number} fileEnd */
  #loadForwardNow (fileEnd) {
    const { start, need } = this.#forwardSpan
    const window = this.#window
    if (!window.loadForwardNow(start, need, fileEnd)) return false
    const canCheck = this.#store.pages?.canCheck(window.start, window.end) ?? true
    if (canCheck) this.#check()
    return canCheck
  }

  /** @type {(fileEnd: number, cb: (err: Error | null) => void) => void} */
  #load (fileEnd, cb) {
    const { pages } = this.#store
    const window = this.#window
    const onRead = (/** @type {Error | null} */ err) => {
      if (!err) this.#check()
      cb(err)
    }
    const onLoaded = (/** @type {Error | null} */ err) => {
      if (err || pages === null || pages.canCheck(window.start, window.end)) onRead(err)
      else pages.load(window.start, window.end, onRead)
    }
    if (this.#reverse) this.#loadBackward(onLoaded)
    else window.loadForward(this.#forwardSpan.start, this.#forwardSpan.need, fileEnd, onLoaded)
  }

  get #forwardSpan () {
    const { position, need } = this.#walk
    if (this.#store.pages === null) return { start: position, need }
    const isChecked = position >= this.#checkedStart && position < this.#checkedEnd
    const start = isChecked ? position : position - position % SUMMED_SIZE
    return { start, need: pageEnd(position + need) - start }
  }

  /** @param {(err: Error | null) => void} cb */
  #loadBackward (cb) {
    const { pages, start, end } = this.#store
    const { position, need } = this.#walk
    if (pages === null) return this.#window.loadBackward(position, need, start, cb)
    const isChecked = position > this.#checkedStart && position <= this.#checkedEnd
    const to = isChecked ? position : Math.min(pageEnd(position), Math.max(position, end))
    const from = Math.max(0, position - need)
    this.#window.loadBackward(to, to - (from - from % SUMMED_SIZE), 0, cb)
  }

  /** Compares the new pages of the window with their checksums. A page without its checksum becomes a hole. */
  #check () {
    const { pages } = this.#store
    if (pages === null) return
    const { buffer, start, end } = this.#window
    for (let page = Math.ceil(start / SUMMED_SIZE); (page + 1) * SUMMED_SIZE <= end; page++) {
      const at = page * SUMMED_SIZE
      if (at >= this.#checkedStart && at + SUMMED_SIZE <= this.#checkedEnd) continue
      if (pages.check(page, buffer, at - start)) continue
      buffer.fill(0, at - start, at - start + SUMMED_SIZE)
      this.#badPages.push(at)
    }
    this.#checkedStart = start
    this.#checkedEnd = end
  }
}

/** Where a page ends, at or after a position. @param {number} position */
function pageEnd (position) {
  return Math.ceil(position / SUMMED_SIZE) * SUMMED_SIZE
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
