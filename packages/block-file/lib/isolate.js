'use strict'
// Runs what is not ours.

/**
 * An exception is thrown where it can be seen, and stops nothing here.
 * @param {() => void} run
 */
function isolate (run) {
  try {
    run()
  } catch (err) {
    process.nextTick(() => { throw err })
  }
}

exports.isolate = isolate
