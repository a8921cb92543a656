'use strict'
// A task: how many records there are, counted slowly.

module.exports = ({ waitMs }) => {
  let count = 0
  return {
    onRecords (chunk) {
      count += chunk.count
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitMs)
    },
    end: () => ({ count })
  }
}
