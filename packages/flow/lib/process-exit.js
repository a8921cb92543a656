'use strict'
// What runs when the process exits, however many want that: Node.js warns if there are more than ten listeners.

/** @type {Set<() => void>} */
const runs = new Set()

function runAll () {
  for (const run of [...runs].reverse()) run()
}

/**
 * Runs a function when the process exits, before those that were given earlier and before earlier listeners. It must
 * not throw.
 * @param {() => void} run
 * @returns {() => void}  forgets it
 */
function atExit (run) {
  // Listeners that came meanwhile, such as that of open logs, must run later.
  process.off('exit', runAll).prependListener('exit', runAll)
  runs.add(run)
  return () => {
    runs.delete(run)
    if (runs.size === 0) process.off('exit', runAll)
  }
}

exports.atExit = atExit
