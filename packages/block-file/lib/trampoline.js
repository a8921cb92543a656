'use strict'
// A loop over a step that may finish now or later, without growing the stack when it finishes now.

/**
 * @param {(next: () => void) => void} step  calls `next` once to be run again, or never to end the loop
 */
function trampoline (step) {
  let inStep = false
  let again = false
  const next = () => {
    again = true
    if (!inStep) run()
  }
  const run = () => {
    inStep = true
    try {
      while (again) {
        again = false
        step(next)
      }
    } finally {
      inStep = false
    }
  }
  next()
}

exports.trampoline = trampoline
