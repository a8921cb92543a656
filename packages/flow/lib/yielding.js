'use strict'
// Leaves the event loop to others: a TimeSlice in a loop over many small items, and a pause.

const { performance } = require('node:perf_hooks')
const { setImmediate } = require('node:timers')
const { timerMs } = require('@millrace/errors')

// Short enough that the block stays unnoticed even if a garbage collection or the compilation of a filter adds to it.
const SLICE_MS = 2
/** How often a loop looks at the clock. */
const LOOK_MS = 0.5
const COUNT_MAX = 64

/** Turns of the event loop since the start. Only turns that a slice asked for count. */
let turnCount = 0
let isAsked = false

/**
 * Tells a loop when to wait for the next turn of the event loop. It does not look at the clock for every item. The
 * number of items between two looks depends on how long the items take.
 */
class TimeSlice {
  /** @param {{ countMax?: number | undefined }} [options]  the most items between two looks at the clock */
  constructor ({ countMax = COUNT_MAX } = {}) {
    this._countMax = countMax
    this._startMs = this._lookMs = 0
    // If the loop waits for something else between two items, the event loop turns anyway and a new slice begins.
    this._turn = -1
    this._count = 1
    this._left = 1
  }

  /** Call it before each item. @returns {boolean}  whether the loop should wait for the next turn */
  isOver () {
    if (--this._left > 0) return false
    const now = performance.now()
    if (this._turn !== turnCount) {
      this._startMs = this._lookMs = now
      this._turn = turnCount
      // All slices share one timer: a log may have many live readers.
      if (!isAsked) setImmediate(countTurn)
      isAsked = true
    }
    const isSlow = now - this._lookMs > LOOK_MS
    this._count = isSlow ? Math.max(1, this._count >> 1) : Math.min(2 * this._count, this._countMax)
    this._left = this._count
    this._lookMs = now
    return now - this._startMs > SLICE_MS
  }
}

function countTurn () {
  isAsked = false
  turnCount++
}

/** Uses the global timer, so that a test with a fake clock controls it. @type {(ms: number) => Promise<void>} */
function pause (ms) {
  return new Promise((resolve) => setTimeout(resolve, timerMs(ms)))
}

exports.pause = pause
exports.TimeSlice = TimeSlice
