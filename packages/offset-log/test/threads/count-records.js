'use strict'
// A task: how many records there are, and what it was made with.

module.exports = (parameters) => {
  let count = 0
  return {
    onRecords (chunk) { count += chunk.count },
    end: () => ({ count, parameters })
  }
}
