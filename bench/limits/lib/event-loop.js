'use strict'
// How long a read keeps the event loop from everything else.

/**
 * @param {() => Promise<void>} run
 * @returns {Promise<number>}  the longest time, in milliseconds, between two turns of the event loop
 */
async function findLongestBlock (run) {
  let longest = 0
  let last = performance.now()
  let isRunning = true
  const tick = () => {
    const now = performance.now()
    if (now - last > longest) longest = now - last
    last = now
    if (isRunning) setImmediate(tick)
  }
  setImmediate(tick)
  await run()
  isRunning = false
  tick()
  return longest
}

exports.findLongestBlock = findLongestBlock
