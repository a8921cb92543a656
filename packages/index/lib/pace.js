'use strict'
// Divides the background work of an index into turns of the event loop. It counts work instead of looking at the clock:
// a step is small whatever the machine does, and a test can hold how small.

const { setImmediate } = require('node:timers')

/** In a turn. A unit takes some 3 ns, as to move one key while they are sorted. */
const TURN_WORK = 2 ** 16
/** Between two looks whether the turn is over. */
const STEP_WORK = 2 ** 13

class Pace {
  #left = TURN_WORK

  /** Call it after each piece of work. @param {number} work @returns {boolean}  whether `rest` is due */
  isDue (work) {
    this.#left -= work
    return this.#left <= 0
  }

  /** Lets others run. @returns {Promise<void>} */
  async rest () {
    await new Promise((resolve) => { setImmediate(resolve) })
    this.#left = TURN_WORK
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

exports.Pace = Pace
exports.STEP_WORK = STEP_WORK
exports.TURN_WORK = TURN_WORK
