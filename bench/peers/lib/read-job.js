'use strict'
// What the jobs that read have in common: the first sample apart, since nothing is compiled by then, and the median of
// those after it.

const { median } = require('../../lib/statistics')

const SAMPLE_COUNT = 3

/**
 * @typedef {object} Sampler
 * @property {() => Promise<number>} sample  does the work, and gives its time, ms
 * @property {() => { records: number, answer: Record<string, number | string> }} result  of the last sample
 */

/** @typedef {import('./shapes').Job} Job */
/** @typedef {import('./shapes').Setting} Setting */

/**
 * @param {Pick<Job, 'name' | 'order' | 'meaning' | 'mode'>} job
 * @param {(store: import('./shapes').Store, setting: Setting) => Sampler} prepare
 * @returns {Job}
 */
function createReadJob (job, prepare) {
  return {
    ...job,
    async measure (peer, setting) {
      const store = await peer.open(setting.folder, job.mode)
      const { sample, result } = prepare(store, setting)
      const first = await sample()
      /** @type {number[]} */
      const samples = []
      while (samples.length < SAMPLE_COUNT) samples.push(await sample())
      await store.close()
      return { ...result(), ms: median(samples), first }
    }
  }
}

/**
 * @param {() => Promise<unknown>} work
 * @returns {Promise<number>}  ms
 */
async function time (work) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

exports.createReadJob = createReadJob
exports.time = time
