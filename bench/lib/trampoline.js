'use strict'
// Reads a file range by range with a function that may call back at once or later, without growing the stack.

/** @typedef {import('./shapes').VisitBytes} VisitBytes */
/** @typedef {(err: Error | null | undefined, buf?: any) => void} OnRead */

/**
 * One read at a time, and one callback for all of them: the harness must cost next to nothing beside what it measures.
 * @param {{ size: number, step: number }} range  bytes: the file's, and each read's; the last may be shorter
 * @param {(start: number, end: number, cb: OnRead) => void} read
 * @param {VisitBytes} visit
 * @returns {Promise<void>}
 */
function eachRange ({ size, step }, read, visit) {
  return new Promise((resolve, reject) => {
    let start = 0
    let end = 0
    let running = false
    let answered = false

    /** @type {OnRead} */
    const onRead = (err, buf) => {
      if (err) return reject(err)
      visit(start, buf, 0, buf.length)
      start = end
      answered = true
      if (!running) run()
    }

    const run = () => {
      running = true
      do {
        if (start >= size) return resolve()
        answered = false
        end = Math.min(start + step, size)
        read(start, end, onRead)
      } while (answered)
      running = false
    }

    run()
  })
}

exports.eachRange = eachRange
