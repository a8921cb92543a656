'use strict'
// Time that passes only when a test says so. How a log reads and writes follows from how long its calls take, so a test
// that says which way one went must not ask a machine that may be busy.

const { performance } = require('node:perf_hooks')

/**
 * Stops `performance.now()` of this process until the test ends.
 * @param {{ teardown: (run: () => void) => void }} t  a test, of tape or of what looks like it
 * @returns {{ pass: (ms: number) => void }}  lets time pass
 */
function stopClock (t) {
  let now = performance.now()
  // An own property, over the one of the prototype.
  performance.now = () => now
  t.teardown(() => { Reflect.deleteProperty(performance, 'now') })
  return { pass: (ms) => { now += ms } }
}

exports.stopClock = stopClock
