'use strict'
// How many actions run at the same time: one, or a few.

/** Runs actions one after the other. */
class Turns {
  /** @type {Promise<unknown>} */
  #last = Promise.resolve()

  /**
   * Runs an action once all earlier ones have ended, however they did.
   * @template T
   * @param {() => Promise<T>} action
   * @returns {Promise<T>}
   */
  run (action) {
    const result = this.#last.catch(() => {}).then(action)
    this.#last = result
    return result
  }

  /** @returns {Promise<void>}  once the actions so far have ended; it never fails */
  async settled () {
    await this.#last.catch(() => {})
  }
}

/**
 * Visits the items of a list, up to `laneCount` at the same time. The first error ends the call, but not the visits
 * that are under way.
 * @template T
 * @param {Iterable<T>} items
 * @param {number} laneCount
 * @param {(item: T) => Promise<void>} visit
 * @returns {Promise<void>}
 */
async function inLanes (items, laneCount, visit) {
  let hasFailed = false
  const left = items[Symbol.iterator]()
  const run = async () => {
    for (let next = left.next(); !next.done && !hasFailed; next = left.next()) {
      await visit(next.value).catch((err) => {
        hasFailed = true
        throw err
      })
    }
  }
  await Promise.all(Array.from({ length: laneCount }, run))
}

/**
 * Does the steps of an end one after the other, each of them even if one before it has failed: otherwise what only a
 * later one closes or unlocks would stay so.
 * @param {Array<() => unknown>} steps  may return promises
 * @returns {Promise<void>}  fails as the first step did that failed
 */
async function endAll (steps) {
  /** @type {unknown[]} */
  const failures = []
  for (const step of steps) {
    try {
      await step()
    } catch (err) {
      failures.push(err)
    }
  }
  if (failures.length > 0) throw failures[0]
}

exports.Turns = Turns
exports.endAll = endAll
exports.inLanes = inLanes
