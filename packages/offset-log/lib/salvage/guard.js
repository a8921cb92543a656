'use strict'
// What is read from damaged bytes may make anything throw. It ends the call, and nothing else.

/**
 * @template {unknown[]} Rest
 * @param {(err: Error | null, ...rest: Rest) => void} cb
 * @param {() => void} run  must call back once, now or later
 */
function guard (cb, run) {
  try {
    run()
  } catch (err) {
    // @ts-expect-error without a result
    cb(err)
  }
}

/**
 * @template {unknown[]} Rest
 * @param {(err: Error | null, ...rest: Rest) => void} cb
 * @returns {(err: Error | null, ...rest: Rest) => void}  calls it back once. An error behind that is the callback's own
 */
function once (cb) {
  let isOver = false
  return (err, ...rest) => {
    if (isOver && err) throw err
    if (isOver) return
    isOver = true
    cb(err, ...rest)
  }
}

exports.guard = guard
exports.once = once
