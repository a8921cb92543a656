'use strict'
// The records of a log already in memory, for peers that need no log.

const { OffsetLog } = require('@millrace/offset-log')
const fs = require('node:fs')

/** @typedef {import('@millrace/offset-log').Chunk} Chunk */

/**
 * @typedef {object} Loaded
 * @property {Buffer} bytes  of the whole file
 * @property {Float64Array} seqs
 * @property {Uint32Array} starts  of the records, in `bytes`
 * @property {Uint32Array} ends
 */

/**
 * @param {string} path  of a log in an offset framing: its records are whole in the file
 * @param {number} [recordsMax]
 * @returns {Promise<Loaded>}
 */
async function loadRecords (path, recordsMax = Infinity) {
  const bytes = fs.readFileSync(path)
  /** @type {number[][]} */
  const [seqs, starts, ends] = [[], [], []]
  const log = OffsetLog(path, { flags: 'r' })
  await log.scan({}, (/** @type {Chunk} */ chunk) => {
    for (let index = 0; index < chunk.count && seqs.length < recordsMax; index++) {
      // The frame begins with a length of four bytes, at its seq.
      const start = chunk.seqs[index] + 4
      seqs.push(chunk.seqs[index])
      starts.push(start)
      ends.push(start + chunk.ends[index] - chunk.starts[index])
    }
    return seqs.length < recordsMax
  })
  await log.close()
  return { bytes, seqs: Float64Array.from(seqs), starts: Uint32Array.from(starts), ends: Uint32Array.from(ends) }
}

/**
 * @param {string} path  of a log of JSON in an offset framing
 * @returns {Promise<import('../../lib/shapes').Reader<import('../../lib/shapes').VisitValue>>}
 */
async function openParsedInMemory (path) {
  const { bytes, seqs, starts, ends } = await loadRecords(path)
  return {
    async run (visit) {
      for (let index = 0; index < seqs.length; index++) {
        visit(seqs[index], JSON.parse(bytes.toString('utf8', starts[index], ends[index])))
      }
    },
    async close () {}
  }
}

exports.loadRecords = loadRecords
exports.openParsedInMemory = openParsedInMemory
