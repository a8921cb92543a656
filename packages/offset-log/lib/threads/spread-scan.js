'use strict'
// One scan over threads: hands out its parts, and puts what they come to together in the order of the log. What a part
// says counts only once the one before it has come to where it began; if one has not, the rest is read in one piece.

const { abortError, onAbort } = require('../abort')

/**
 * @typedef {import('./plan-parts').Part} Part
 * @typedef {import('./thread').Thread} Thread
 * @typedef {import('./thread').Request} Request
 * @typedef {import('./worker').Answer} Answer
 * @typedef {import('./scan-part').PartRead} PartRead
 * @typedef {{ lost: { count: number, size: number }, results: unknown[] }} Spread  results in the order of the log
 * @typedef {{ part: Part, err: Error | null, read: PartRead | undefined, result: unknown }} Outcome
 *
 * @typedef {object} Work
 * @property {Part[]} parts
 * @property {number} threads
 * @property {{ take: () => { thread: Thread, isNew: boolean }, giveBack: (thread: Thread) => void }} pool
 * @property {import('./gate').Gate} gate
 * @property {(part: Part) => Request} describe  a part as a thread is asked for it
 * @property {AbortSignal | null} signal
 */

class SpreadScan {
  /**
   * @param {Work} work
   * @param {(err: Error | null, read?: PartRead[], results?: unknown[]) => void} cb
   */
  constructor (work, cb) {
    this._work = work
    this._cb = cb
    this._parts = work.parts
    /** Which part is handed out next. */
    this._next = 0
    /** @type {Array<Outcome | undefined>} by part */
    this._outcomes = []
    /** How many of them count. */
    this._settledCount = 0
    this._isOver = false
    this._hasFailed = false
    /** Those that are busy with a part. @type {Set<Thread>} */
    this._busy = new Set()
    /** Those that there is nothing left for. @type {Thread[]} */
    this._idle = []
    /** Those that have worked for no other scan. @type {Set<Thread>} */
    this._fresh = new Set()
    this._forgetSignal = () => {}
  }

  run () {
    const { signal } = this._work
    if (signal?.aborted) return this._finish(abortError('scan', signal))
    this._forgetSignal = onAbort(signal, () => this._finish(abortError('scan', /** @type {AbortSignal} */ (signal))))
    const count = Math.min(this._work.threads, this._parts.length)
    for (let index = 0; index < count; index++) this._handOut(null)
  }

  /** @param {Thread | null} thread  that has nothing to do; null for another one */
  _handOut (thread) {
    const index = this._next
    const isNeeded = !this._isOver && index < this._parts.length
    if (thread && (!isNeeded || thread.isDead)) this._release(thread)
    if (!isNeeded) return
    const part = this._parts[index]
    this._next++
    this._work.gate.enter('part', () => {
      const taken = this._isOver ? thread : this._take(thread)
      if (taken === null || this._isOver) {
        this._work.gate.leave()
        if (taken) this._release(taken)
        return
      }
      this._ask(taken, part, index)
    })
  }

  /** @param {Thread} thread  that this scan needs no longer */
  _release (thread) {
    if (!this._isOver) return this._idle.push(thread)
    // What a task that has failed left behind in it may fail the next one.
    if (this._hasFailed) thread.stop()
    this._work.pool.giveBack(thread)
  }

  /**
   * @param {Thread | null} thread
   * @returns {Thread | null}
   */
  _take (thread) {
    if (thread && !thread.isDead) return thread
    try {
      const { thread: taken, isNew } = this._work.pool.take()
      if (isNew) this._fresh.add(taken)
      return taken
    } catch (err) {
      // Not from here: the caller is to hear of nothing before his call has returned.
      process.nextTick(() => this._finish(/** @type {Error} */ (err)))
      return null
    }
  }

  /**
   * @param {Thread} thread
   * @param {Part} part
   * @param {number} index
   */
  _ask (thread, part, index) {
    this._busy.add(thread)
    thread.ask(this._work.describe(part), (err, answer) => {
      this._busy.delete(thread)
      // It may have died of what a task of another scan had left in it.
      const another = err && this._wasKilledByAnother(thread, index, part) ? this._take(null) : null
      if (another) return this._ask(another, part, index)
      this._work.gate.leave()
      // It may be one of those that were not needed after all.
      if (this._parts[index] === part) {
        this._outcomes[index] = { part, err, read: answer?.read, result: answer?.result }
        // Nothing behind it will count; but what lies before has to be known.
        if (err || answer?.read?.hasEnded) this._next = Infinity
        if (!this._isOver) this._settle()
      }
      this._handOut(thread)
    })
  }

  /**
   * @param {Thread} thread
   * @param {number} index
   * @param {Part} part
   */
  _wasKilledByAnother (thread, index, part) {
    return thread.hasEnded && !this._fresh.has(thread) && !this._isOver && this._parts[index] === part
  }

  _settle () {
    while (!this._isOver) {
      const outcome = this._outcomes[this._settledCount]
      if (!outcome) return
      if (!this._isJoined(outcome)) return this._readRestInOnePiece()
      if (outcome.err) return this._finish(outcome.err)
      this._settledCount++
      if (outcome.read?.hasEnded || this._settledCount === this._parts.length) return this._finish(null)
    }
  }

  /**
   * Whether a plain scan that has come to this part would read it as it was read.
   * @param {Outcome} outcome
   */
  _isJoined ({ part, err, read }) {
    const before = this._outcomes[this._settledCount - 1]
    if (before === undefined) return true
    return before.read?.seam.hasMet === true && (err !== null || read?.seam.begunAt === part.at)
  }

  _readRestInOnePiece () {
    const first = this._settledCount - 1
    const { stop } = this._parts[this._parts.length - 1]
    this._parts = [...this._parts.slice(0, first), { ...this._parts[first], stop }]
    this._outcomes.length = this._settledCount = this._next = first
  }

  /** @param {Error | null} err */
  _finish (err) {
    if (this._isOver) return
    this._isOver = true
    this._hasFailed = err !== null
    this._forgetSignal()
    for (const thread of this._idle) this._release(thread)
    // Whatever it is busy with, perhaps for ever.
    if (err) for (const thread of this._busy) thread.stop()
    // What the caller's function throws must not keep a thread from being given back.
    if (err) return process.nextTick(this._cb, err)
    const outcomes = /** @type {Outcome[]} */ (this._outcomes.slice(0, this._settledCount))
    const read = outcomes.map(({ read }) => /** @type {PartRead} */ (read))
    process.nextTick(this._cb, null, read, outcomes.map(({ result }) => result))
  }
}

exports.SpreadScan = SpreadScan
