'use strict'
// What runs when the process exits, however many want that: Node.js warns if there are more than ten listeners. The
// order, at an `exit` and never at a signal:
//
// 1. What is prepended, the newest first: `atExit` (a compaction that was about to end lets the others write; a roll of
//    segmented-log, then ingest, flush what they queue), and the rings of log-writer's threads. Their logs are still
//    open.
// 2. In the order of registration: open logs (`OpenLog` in offset-log's durability.js), log writers (process-end.js),
//    pino's half line (destination.js). Any order is right: a finished log that is written again finishes again, and a
//    writer that has heard of the exit writes at once.

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
