'use strict'
// Steps that call back, one after the other, up to the first that fails.

/**
 * @param {Array<(done: (err?: Error | null) => void) => void>} steps
 * @param {(err: Error | null) => void} cb
 */
function inOrder ([step, ...others], cb) {
  if (step === undefined) return cb(null)
  step((err) => err ? cb(err) : inOrder(others, cb))
}

exports.inOrder = inOrder
