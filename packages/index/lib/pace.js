'use strict'
// Divides the background work of an index into turns of the event loop. A turn ends after some work, so a test can hold
// how small it is whatever the machine does; and after some time, as code that is not compiled yet is much slower.

const { performance } = require('node:perf_hooks')
const { setImmediate } = require('node:timers')

/** In a turn. A unit takes some 3 ns, as to move one key while they are sorted. */
const TURN_WORK = 2 ** 16
const TURN_MS = 0.4
/** After others who left no pause, a turn is longer: a part of the time that they took, and at most so long. */
const SHARE = 1 / 4
const TURN_MS_MAX = 4
/** In a step, between two looks whether the turn is over. */
const STEP_WORK = 2 ** 13
/** How much longer work takes at first, and how much work that is: as a block of two paths, and more, in a run. */
const COLDNESS = 8
const COLD_WORK = 2 ** 21
/** Between two looks at the clock, if steps are smaller. */
const LOOK_WORK = 2 ** 12

class Pace {
  #left = TURN_WORK
  #untilLook = LOOK_WORK
  /** How long this turn may be. */
  #turnMs = TURN_MS
  /** When the turn began; earlier if something else was waited for in it. */
  #startMs = -Infinity

  /** The most work between two calls of `isDue`, about. */
  get stepWork () {
    return STEP_WORK
  }

  /** Call it after each piece of work. @param {number} work @returns {boolean}  whether `rest` is due */
  isDue (work) {
    this.#left -= work
    this.#untilLook -= work
    if (this.#untilLook <= 0) this.#look()
    return this.#left <= 0
  }

  #look () {
    this.#untilLook = LOOK_WORK
    if (performance.now() - this.#startMs > this.#turnMs) this.#left = 0
  }

  /** Lets others run. @returns {Promise<void>} */
  async rest () {
    const before = performance.now()
    await new Promise((resolve) => { setImmediate(resolve) })
    this.#startMs = performance.now()
    // Else it would fall behind for good among appends without a pause, and each of them would search what is left.
    this.#turnMs = Math.min(TURN_MS_MAX, Math.max(TURN_MS, SHARE * (this.#startMs - before)))
    this.#left = TURN_WORK * this.#turnMs / TURN_MS
  }

  /**
   * Does something for each of many, in steps.
   * @param {number} count
   * @param {number} work  for each
   * @param {(from: number, to: number) => void} visit  `to` is not in the step
   */
  async walk (count, work, visit) {
    const size = Math.ceil(STEP_WORK / work)
    for (let from = 0; from < count; from += size) {
      const to = Math.min(count, from + size)
      visit(from, to)
      if (this.isDue((to - from) * work)) await this.rest()
    }
  }
}

/**
 * The pace of code that runs for the first time, and is not compiled yet: a turn has less work, until much was done.
 * Not longer: in a log that is appended to without a rest, each turn waits for others.
 */
class ColdPace extends Pace {
  #pace
  #coldLeft = COLD_WORK

  /** @param {Pace} pace  of what is compiled */
  constructor (pace) {
    super()
    this.#pace = pace
  }

  get #coldness () {
    return this.#coldLeft > 0 ? COLDNESS : 1
  }

  get stepWork () {
    return STEP_WORK / this.#coldness
  }

  /** @type {Pace['isDue']} */
  isDue (work) {
    const counted = work * this.#coldness
    this.#coldLeft -= work
    return this.#pace.isDue(counted)
  }

  rest () {
    return this.#pace.rest()
  }

  /** @type {Pace['walk']} */
  walk (count, work, visit) {
    const counted = work * this.#coldness
    this.#coldLeft -= count * work
    return this.#pace.walk(count, counted, visit)
  }
}

exports.ColdPace = ColdPace
exports.LOOK_WORK = LOOK_WORK
exports.Pace = Pace
exports.STEP_WORK = STEP_WORK
exports.TURN_MS = TURN_MS
exports.TURN_WORK = TURN_WORK
