'use strict'
// The rows of single records, picked at random from the log of the bench: in Millrace, and elsewhere.

const { createPrng } = require('../../lib/prng')
const { ByteTally } = require('../../lib/tally')
const { runPipeline } = require('./pipeline')

const GETS = 20000
const IN_FLIGHT = 16
const SEED = 16
const EVERY = 100

/**
 * @typedef {object} Getter
 * @property {number} count  of the records that there are
 * @property {(index: number, cb: (err: any, value?: any) => void) => void} get  the record at an index
 * @property {() => Promise<void>} close
 */

/**
 * @param {Omit<import('./shapes').Row, 'unit' | 'samples' | 'ours' | 'peer'>} row
 * @param {{ ours: (setting: any) => Promise<Getter>, peer: (setting: any) => Promise<Getter> }} sides
 * @returns {import('./shapes').Row}
 */
function createGetRow (row, { ours, peer }) {
  return {
    ...row,
    unit: 'ms',
    isSpeed: true,
    samples: 5,
    ours: { open: async (setting) => timeGets(await ours(setting)) },
    peer: { open: async (setting) => timeGets(await peer(setting)) }
  }
}

/**
 * Every sample picks others, so that a cache has not seen them; both sides pick the same.
 * @param {Getter} getter
 * @returns {import('./shapes').Runner}
 */
function timeGets ({ count, get, close }) {
  const { below } = createPrng(SEED)
  let [records, delivered] = [0, 0]
  return {
    async sample () {
      const picks = Uint32Array.from({ length: GETS }, () => below(count))
      const started = performance.now()
      await runPipeline(GETS, IN_FLIGHT, (index, cb) => get(picks[index], (err, value) => {
        if (err) return cb(err)
        records++
        delivered += value.length
        cb(null)
      }))
      return performance.now() - started
    },
    async finish () {
      const tally = new ByteTally({ every: 1 })
      await runPipeline(GETS / EVERY, 1, (turn, cb) => {
        const index = below(count)
        get(index, (err, value) => {
          if (!err) tally.visit(index, value, 0, value.length)
          cb(err)
        })
      })
      await close()
      const { digest, seqSum } = tally.result()
      return { records, delivered, digest, seqSum }
    }
  }
}

exports.createGetRow = createGetRow
