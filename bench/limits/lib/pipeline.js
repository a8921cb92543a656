'use strict'
// Keeps so many calls under way, whether they answer at once or later, without growing the stack.

/**
 * @param {number} count  of calls in all
 * @param {number} inFlight  at most, at any time
 * @param {(index: number, cb: (err: any) => void) => void} call
 * @returns {Promise<void>}  once all have answered
 */
function runPipeline (count, inFlight, call) {
  return new Promise((resolve, reject) => {
    let [begun, done] = [0, 0]
    let isPumping = false

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

exports.runPipeline = runPipeline
