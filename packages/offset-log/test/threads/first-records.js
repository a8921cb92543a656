'use strict'
// A task that has enough once it has seen a seq.

module.exports = ({ seq }) => {
  const seen = []
  return {
    onRecords ({ count, seqs }) {
      seen.push(...seqs.subarray(0, count))
      return !seen.includes(seq)
    },
    end: () => seen
  }
}
