'use strict'
// A pull-stream source as an async iterator: one read at a time, in the order they were asked for.

/**
 * @param {(abort: Error | true | null, cb: (end: Error | true | null, item?: any) => void) => void} source
 * @returns {AsyncIterableIterator<any>}
 */
function iterate (source) {
  // Each read waits for the one before: a source may not be asked again while it is answering.
  /** @type {Promise<unknown>} */
  let last = Promise.resolve()
  let hasEnded = false

  const read = () => new Promise((resolve, reject) => {
    if (hasEnded) return resolve({ done: true, value: undefined })
    source(null, (end, item) => {
      hasEnded = Boolean(end)
      if (end === true) resolve({ done: true, value: undefined })
      else if (end) reject(end)
      else resolve({ done: false, value: item })
    })
  })

  return {
    next () {
      const result = last.then(read)
      last = result.catch(() => {})
      return result
    },
    // An abort does not wait: it is what ends a live stream's open read.
    return (value) {
      return new Promise((resolve) => source(true, () => resolve({ done: true, value })))
    },
    [Symbol.asyncIterator] () {
      return this
    }
  }
}

exports.iterate = iterate
