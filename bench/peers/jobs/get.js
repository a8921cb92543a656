'use strict'
// Single records by their keys, drawn from all of them.

const { createPrng } = require('../../lib/prng')
const { readKeys } = require('../lib/fill')
const { createReadJob, time } = require('../lib/read-job')
const { tallyRecords } = require('../lib/tally-records')

/** @typedef {import('../lib/shapes').OnRecord} OnRecord */

const GET_COUNT = 50_000
const IN_FLIGHT = 16
const SEED = 16

module.exports = createReadJob({
  name: 'get',
  order: 60,
  meaning: 'by key, at random, 16 in flight',
  mode: 'read'
}, ({ get = () => {} }, { folder }) => {
  const keys = readKeys(folder)
  const count = Math.min(GET_COUNT, keys.length)
  const prng = createPrng(SEED)
  /** @type {Uint8Array[]} */
  const found = new Array(count)
  return {
    sample () {
      const wanted = Float64Array.from({ length: count }, () => keys[prng.below(keys.length)])
      return time(() => getAll(get, wanted, found))
    },
    result () {
      const { visit, result } = tallyRecords()
      for (const record of found) visit(record, 0, record.length)
      return { records: count, answer: result() }
    }
  }
})

/**
 * @param {(key: number, cb: OnRecord) => void} get
 * @param {Float64Array} wanted
 * @param {Uint8Array[]} found  filled, in that order
 * @returns {Promise<void>}
 */
function getAll (get, wanted, found) {
  return new Promise((resolve, reject) => {
    let [next, done] = [0, 0]
    const goOn = () => {
      // Some peers call back at once: a loop rather than a call within a call.
      for (let isAnswered = true; isAnswered && next < wanted.length;) {
        const index = next++
        let isSync = true
        isAnswered = false
        get(wanted[index], (err, record) => {
          if (err || record === undefined) return reject(err ?? new Error(`there is no record ${wanted[index]}`))
          found[index] = record
          done++
          if (done === wanted.length) return resolve()
          if (isSync) isAnswered = true
          else goOn()
        })
        isSync = false
      }
    }
    for (let lane = 0; lane < IN_FLIGHT; lane++) goOn()
  })
}
