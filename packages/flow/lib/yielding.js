'use strict'
// Decides when work yields to the event loop: a TimeSlice in a loop over many small things, a SyncBudget where
// callbacks run before their call returns.

const { performance } = require('node:perf_hooks')

// What a collection of garbage, or a filter to be compiled, adds to it must stay below what can be noticed.
const SLICE_MS = 2
/** So long may pass until the clock is looked at again. */
const LOOK_MS = 0.5
const COUNT_MAX = 64
// Answers before their call returns, in one turn.
const SYNC_COUNT_MAX = 200

/** How many turns of the event loop there were, of those that somebody asked for. */
let turnCount = 0
let isAsked = false

/** One for all who are busy: many are, where a log has many live readers. */
function askForTurn () {
  if (isAsked) return
  isAsked = true
  setImmediate(() => {
    isAsked = false
    turnCount++
  })
}

/**
 * Says when a loop should wait for the next turn of the event loop. It does not look at the clock for each thing: after
 * how many it looks follows from how long they take.
 */
class TimeSlice {
  /**
   * @param {object} [options]
   * @param {number} [options.countMax]  after how many things the clock is looked at, at most
   */
  constructor ({ countMax = COUNT_MAX } = {}) {
    this._countMax = countMax
    this._startMs = this._lookMs = 0
    // Who waits between two things for something else lets others have turns anyway, and has a new slice after it.
    this._turn = -1
    this._count = 1
    this._left = 1
  }

  /** Counts one thing that is about to be done. @returns {boolean}  whether it should wait for the next turn */
  isOver () {
    if (--this._left > 0) return false
    const now = performance.now()
    if (this._turn !== turnCount) this._begin(now)
    const isSlow = now - this._lookMs > LOOK_MS
    this._count = isSlow ? Math.max(1, this._count >> 1) : Math.min(2 * this._count, this._countMax)
    this._left = this._count
    this._lookMs = now
    return now - this._startMs > SLICE_MS
  }

  /** @param {number} now */
  _begin (now) {
    this._startMs = this._lookMs = now
    this._turn = turnCount
    askForTurn()
  }
}

/**
 * Lets callbacks run before their call returns, but only so many in one turn of the event loop. A caller who recurses
 * cannot overflow the stack then, and one who awaits in a loop cannot starve timers.
 */
class SyncBudget {
  constructor () {
    this._syncCount = 0
  }

  /** Whether one more answer may come before its call returns. Counts it. */
  mayAnswer () {
    if (this._syncCount === 0) setImmediate(() => { this._syncCount = 0 })
    return this._syncCount++ < SYNC_COUNT_MAX
  }

  /**
   * @template T
   * @param {(err: null, result: T) => void} cb
   * @param {T} result
   */
  deliver (cb, result) {
    if (this.mayAnswer()) cb(null, result)
    else setImmediate(cb, null, result)
  }
}

/**
 * By the global timer, so that who runs the library under a clock of his own can let it pass.
 * @param {number} ms
 * @returns {Promise<void>}
 */
function pause (ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

exports.pause = pause
exports.TimeSlice = TimeSlice
exports.SyncBudget = SyncBudget
