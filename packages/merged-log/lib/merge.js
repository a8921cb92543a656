'use strict'
// Merges the slots into one stream. Each slot gives its records in its own order, one at a time; the stream always
// takes the one with the earliest time next. So memory is bounded by one record of each slot, and by what their
// readers hold.
//
// The order within a slot never changes: if a record's time is earlier than that of a record before it in the slot,
// because the clock was set back, the later of the two counts for both.

const { clearTimeout, setTimeout } = require('node:timers')
const { LogError, asError } = require('@millrace/errors')
const { abortError, isPlausible, onAbort, rethrowAsync, toCallback } = require('@millrace/flow')

const SECOND_READ = 'stream: a second read was requested before the first one finished'
/** A live stream that waits for a record keeps the process running with a timer, which does nothing else. */
const KEEP_ALIVE_MS = 2 ** 30

/**
 * @typedef {import('@millrace/offset-log').Source<any>} Source
 * @typedef {ReturnType<typeof import('./options').parseRead>} Read
 * @typedef {{ slot: number, log: any }} OpenSlot
 * @typedef {Error | true | null} End
 *
 * @typedef {object} MergeOptions
 * @property {(value: any) => number} timeOf
 * @property {number} latenessMs
 * @property {(err: Error) => Error} refine  tells the error of a slot
 */

/** One slot's part of the stream. */
class Input {
  #merge
  #read
  /** @type {Source | null} */
  #source = null
  /** Of the source: the seq that the slot had reached when it was opened. */
  #end = -1
  #upTo
  /** The seq up to which the slot was read. */
  #seq
  #isLive
  #forget
  lost = { count: 0, size: 0 }
  undecodable = { count: 0, size: 0 }
  /**
   * reading: the next record is being read. Waiting: there is none yet.
   * @type {'reading' | 'ready' | 'waiting' | 'ended'}
   */
  state = 'reading'
  /** @type {{ seq: number, value: any }} */
  item = { seq: -1, value: undefined }
  /** The record's own time, in ms since 1970; NaN if it has none. */
  timeMs = NaN
  /** The latest time in the slot so far, or if the stream is reversed, the earliest. */
  orderMs
  /** When it was read, by the steady clock. */
  readyMs = 0
  /** Whether the slot had a time that may be right. Then those that cannot be do not move its order. */
  #hasPlausible = false

  /**
   * @param {Merge} merge
   * @param {OpenSlot} open
   * @param {Read} read
   * @param {number} [after]  the seq of the record before the first one
   * @param {number} [upTo]  and of the last one
   */
  constructor (merge, { slot, log }, read, after, upTo = Infinity) {
    this.slot = slot
    this.log = log
    this.#merge = merge
    this.#read = read
    this.#seq = after ?? -1
    this.#upTo = upTo
    this.#isLive = read.live
    this.orderMs = read.reverse ? Infinity : -Infinity
    this.#forget = read.live ? log.since(() => this.#hear(), false) : () => {}
    this.#begin()
  }

  #hear () {
    if (this.state !== 'waiting') return
    this.state = 'reading'
    this.#begin()
    this.#merge.go()
  }

  /**
   * Reads what the slot has now. So it is known when a slot has nothing more for the moment. Its end is no bound: after
   * it there may be records that cannot be read, which the stream of the slot tells.
   */
  #begin () {
    const { of } = this.#read
    this.#end = Math.min(this.log.since.value, this.#upTo)
    const last = this.#upTo === Infinity ? undefined : this.#upTo
    this.#source = this.log.stream({ ...of, ...boundsOf(this.#seq === -1 ? undefined : this.#seq, last) })
    this.advance()
  }

  /** Reads the next record. */
  advance () {
    this.state = 'reading'
    const source = /** @type {Source} */ (this.#source)
    source(null, (end, item) => {
      if (this.#source !== source) return
      if (end) return this.#onEnd(end)
      this.item = item
      try {
        this.#order()
      } catch (err) {
        return this.#merge.fail(asError(err, 'MergedLog: the function time'))
      }
      this.state = 'ready'
      this.readyMs = performance.now()
      this.#merge.go()
    })
  }

  #order () {
    const { item: { value } } = this
    this.timeMs = this.#merge.timeOf(value)
    if (!Number.isFinite(this.timeMs)) return
    const mayBeRight = isPlausible(this.timeMs, Date.now())
    if (!mayBeRight && this.#hasPlausible) return
    const isFirst = mayBeRight && !this.#hasPlausible
    this.#hasPlausible ||= mayBeRight
    const isEarlier = this.timeMs < this.orderMs
    if (isFirst || isEarlier === this.#read.reverse) this.orderMs = this.timeMs
  }

  /** @param {Error | true} end */
  #onEnd (end) {
    const { lost, undecodable } = /** @type {Source} */ (this.#source)
    add(this.lost, lost)
    add(this.undecodable, undecodable)
    this.#source = null
    if (end !== true) return this.#merge.fail(end)
    this.state = 'ended'
    if (this.#isLive) {
      this.#seq = Math.max(this.#seq, this.#end, this.item.seq)
      this.state = 'waiting'
      if (this.log.since.value > this.#end) return this.#hear()
    }
    this.#merge.go()
  }

  /** What was skipped until now, of the source too. @param {'lost' | 'undecodable'} what */
  skipped (what) {
    const total = { ...this[what] }
    if (this.#source !== null) add(total, this.#source[what])
    return total
  }

  close () {
    this.#forget()
    const source = this.#source
    this.#source = null
    this.state = 'ended'
    source?.(true, () => {})
  }
}

class Merge {
  #read
  #options
  /** By slot. @type {Input[]} */
  #inputs = []
  #isOpen = false
  /** @type {End} */
  #end = null
  /** The read that waits for an answer. @type {((end: End, item?: any) => void) | null} */
  #asking = null
  #left
  #isGoing = false
  #mustGoAgain = false
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** The time of the last record that was delivered, in ms since 1970. */
  #deliveredMs = -Infinity
  #forgetSignal
  #onClose
  /** @type {import('./options').Position} */
  position

  /**
   * @param {(merge: Merge) => Promise<OpenSlot[]>} open  the slots; later ones are added with `add`
   * @param {Read} read
   * @param {MergeOptions} options
   * @param {(merge: Merge) => void} onClose
   */
  constructor (open, read, options, onClose) {
    this.#read = read
    this.#options = options
    this.#left = read.limit
    this.#onClose = onClose
    this.timeOf = options.timeOf
    this.position = read.reverse ? {} : { ...read.after }
    const { signal } = read
    this.#forgetSignal = onAbort(signal, () => this.fail(abortError('stream', /** @type {AbortSignal} */ (signal))))
    if (signal?.aborted) this.fail(abortError('stream', signal))
    // Records that are appended from now on are delivered, even if nobody has read yet.
    toCallback(open(this), (err, slots) => {
      if (err) return this.fail(err)
      for (const slot of slots) this.add(slot, !read.old)
      this.#isOpen = true
      this.go()
    })
  }

  /** @type {(slot: OpenSlot, isFromNow?: boolean) => void} */
  add (open, isFromNow = false) {
    if (this.#end !== null || this.#inputs.some(({ slot }) => slot === open.slot)) return
    const { slot, log } = open
    const { after, upTo, reverse } = this.#read
    const first = after[slot] ?? (isFromNow ? log.since.value : undefined)
    const last = upTo === null ? undefined : upTo[slot] ?? -1
    if (reverse) this.position[slot] = Math.min(log.since.value, last ?? Infinity)
    else if (first !== undefined) this.position[slot] = first
    this.#inputs.push(new Input(this, open, this.#read, first, last))
    this.#inputs.sort((a, b) => a.slot - b.slot)
    this.go()
  }

  get lost () {
    return this.#sum('lost')
  }

  get undecodable () {
    return this.#sum('undecodable')
  }

  /** @param {'lost' | 'undecodable'} what */
  #sum (what) {
    const total = { count: 0, size: 0 }
    for (const input of this.#inputs) add(total, input.skipped(what))
    return total
  }

  noteIterated () {}

  /** @type {(abort: End, cb: (end: End, item?: any) => void) => void} */
  read (abort, cb) {
    if (abort !== null) {
      this.#close(abort)
      return cb(abort)
    }
    if (this.#end !== null) return cb(this.#end)
    if (this.#asking !== null) return cb(new LogError('ERR_STREAM_USED', SECOND_READ))
    this.#asking = cb
    this.go()
  }

  /** @param {Error} err */
  fail (err) {
    this.#close(this.#options.refine(err))
  }

  /** The log is being closed: whoever has read everything that is there gets the end. @param {Error} err  for others */
  end (err) {
    const isDone = this.#isOpen && this.#read.live && this.#inputs.every(({ state }) => state === 'waiting')
    this.#close(isDone ? true : err)
  }

  /** @param {Exclude<End, null>} end */
  #close (end) {
    if (this.#end !== null) return
    this.#end = end
    this.#forgetSignal?.()
    clearTimeout(this.#timer)
    for (const input of this.#inputs) input.close()
    this.#onClose(this)
    const asking = this.#asking
    this.#asking = null
    if (asking !== null) rethrowAsync(() => asking(end))
  }

  /** Answers the read that waits, if it can. A reader may call it while it runs. */
  go () {
    this.#mustGoAgain = true
    if (this.#isGoing) return
    this.#isGoing = true
    while (this.#mustGoAgain) {
      this.#mustGoAgain = false
      this.#answer()
    }
    this.#isGoing = false
  }

  #answer () {
    if (this.#asking === null || !this.#isOpen || this.#end !== null) return
    if (this.#left <= 0) return this.#close(true)
    const inputs = this.#inputs
    if (inputs.some(({ state }) => state === 'reading')) return
    const first = this.#findFirst()
    const isWaiting = inputs.some(({ state }) => state === 'waiting')
    if (first === null) return isWaiting ? this.#wait(KEEP_ALIVE_MS) : this.#close(true)
    const waitMs = isWaiting ? this.#waitMsFor(first) : 0
    if (waitMs > 0) this.#wait(waitMs)
    else this.#deliver(first)
  }

  /** The slot whose record comes next; null if none has one. */
  #findFirst () {
    /** @type {Input | null} */
    let first = null
    const { reverse } = this.#read
    for (const input of this.#inputs) {
      if (input.state !== 'ready') continue
      const isNext = first === null || (reverse ? input.orderMs >= first.orderMs : input.orderMs < first.orderMs)
      if (isNext) first = input
    }
    return first
  }

  /** How long other slots may still get a record that belongs before this one. @param {Input} input */
  #waitMsFor ({ timeMs, readyMs }) {
    const { latenessMs } = this.#options
    // The clock was frozen or set back: what belongs before is late already.
    if (timeMs <= this.#deliveredMs) return 0
    const waitMs = timeMs + latenessMs - Date.now()
    // A time so far ahead says that the clock was set back: there is nothing to wait for.
    if (waitMs > 2 * latenessMs) return 0
    // The wall clock may stand still.
    return Math.min(waitMs, readyMs + latenessMs - performance.now())
  }

  /** @param {number} ms */
  #wait (ms) {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.go(), Math.min(ms, KEEP_ALIVE_MS))
    if (this.#read.unref) this.#timer.unref()
  }

  /** @param {Input} input */
  #deliver (input) {
    clearTimeout(this.#timer)
    const { slot, item: { seq, value }, timeMs } = input
    const { hasSeqs, hasValues, reverse } = this.#read
    const asking = /** @type {(end: End, item?: any) => void} */ (this.#asking)
    this.#asking = null
    this.#left--
    // A reversed stream goes on before the record, and nobody knows yet which seq is there.
    this.position[slot] = reverse ? seq - 1 : seq
    this.#deliveredMs = timeMs
    const key = hasSeqs || !hasValues ? `${slot}:${seq}` : ''
    // Before the answer: reading on may answer at once, and whoever asks again must find the next record.
    if (this.#left > 0) input.advance()
    let item = hasValues ? value : key
    if (hasSeqs && hasValues) item = { seq: key, time: Number.isFinite(timeMs) ? timeMs : null, value }
    // Whoever throws may have read on before: the loop of `go` answers that read.
    rethrowAsync(() => asking(null, item))
  }
}

/** @type {(total: { count: number, size: number }, more: { count: number, size: number }) => void} */
function add (total, { count, size }) {
  total.count += count
  total.size += size
}

/**
 * @param {number} [after]
 * @param {number} [upTo]
 * @returns {object}  the bounds of a read of one slot
 */
function boundsOf (after, upTo) {
  return { ...(after === undefined ? {} : { gt: after }), ...(upTo === undefined ? {} : { lte: upTo }) }
}

exports.Merge = Merge
exports.boundsOf = boundsOf
