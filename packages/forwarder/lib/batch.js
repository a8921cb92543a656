'use strict'
// Cuts a batch from the records that were read.

/**
 * The next records, as many as one batch may have.
 * @param {import('./reading').Entry[]} queue  not empty
 * @param {{ countMax: number, sizeMax: number }} bounds
 * @param {number | null} end  the last seq of a batch that a crash interrupted: it is made again
 */
function cutBatch (queue, { countMax, sizeMax }, end) {
  const [first] = queue
  const isAgain = end !== null && first.seq <= end
  let size = 0
  let count = 0
  for (const entry of queue) {
    size += entry.size
    const isOver = isAgain ? entry.seq > end : count === countMax || (count > 0 && size > sizeMax)
    if (isOver || (count > 0 && (entry.error !== null || first.error !== null))) break
    count++
  }
  return queue.slice(0, count)
}

exports.cutBatch = cutBatch
