'use strict'
// The task of a scan over threads: a tally of each part.

const { ChunkTally } = require('./scan-log')

/** @type {import('@millrace/offset-log').CreateTask} */
module.exports = () => {
  const tally = new ChunkTally()
  return {
    onChunk: (chunk) => tally.add(chunk),
    end: () => ({ ...tally })
  }
}
