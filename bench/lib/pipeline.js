'use strict'
// Drives functions that may call back at once or later, without growing the stack.

/** @typedef {(err: Error | null | undefined, buf?: any) => void} OnRead */

/**
 * Keeps so many calls under way.
 * @param {number} count  of calls in all
 * @param {number} inFlight  at most, at any time
 * @param {(index: number, cb: (err: any) => void) => void} call
 * @returns {Promise<void>}  once all have answered
 */
function runPipeline (count, inFlight, call) {
  return new Promise((resolve, reject) => {
    let [begun, done, isPumping] = [0, 0, false]
    if (count === 0) resolve()

    /** @param {any} err */
    const onAnswer = (err) => {
      if (err) return reject(err)
      done++
      if (done === count) return resolve()
      if (!isPumping) pump()
    }

    const pump = () => {
      isPumping = true
      while (begun < count && begun - done < inFlight) call(begun++, onAnswer)
      isPumping = false
    }

    pump()
  })
}

/**
 * Reads a file range by range, one read at a time. One callback for all of them: the harness must cost next to nothing
 * beside what it measures.
 * @param {{ size: number, step: number }} range  bytes: the file's, and each read's; the last may be shorter
 * @param {(start: number, end: number, cb: OnRead) => void} read
 * @param {(seq: number, buf: Uint8Array, start: number, end: number) => void} visit
 * @returns {Promise<void>}
 */
function eachRange ({ size, step }, read, visit) {
  return new Promise((resolve, reject) => {
    let [start, end, isRunning, isAnswered] = [0, 0, false, false]

    /** @type {OnRead} */
    const onRead = (err, buf) => {
      if (err) return reject(err)
      visit(start, buf, 0, buf.length)
      start = end
      isAnswered = true
      if (!isRunning) run()
    }

    const run = () => {
      isRunning = true
      do {
        if (start >= size) return resolve()
        isAnswered = false
        end = Math.min(start + step, size)
        read(start, end, onRead)
      } while (isAnswered)
      isRunning = false
    }

    run()
  })
}

/**
 * What takes a callback, as a promise.
 * @param {(cb: (err?: any, value?: any) => void) => void} start
 * @returns {Promise<any>}
 */
function call (start) {
  return new Promise((resolve, reject) => start((err, value) => err ? reject(err) : resolve(value)))
}

exports.runPipeline = runPipeline
exports.eachRange = eachRange
exports.call = call
