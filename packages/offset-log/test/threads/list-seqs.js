'use strict'
// A task: the seqs of the records that pass the filter. Its codec is told by name, and spells JSON as it pleases.

const codecs = require('../spelled-codecs')

module.exports = ({ codec }) => {
  const found = []
  return {
    codec: codecs[codec],
    onRecords ({ count, seqs }) { found.push(...seqs.subarray(0, count)) },
    end: () => found
  }
}
