'use strict'
// One task of one peer in a process of its own.
// Usage: node child.js '{ "task", "peerFile", "jobFile", "setting" }'; prints one line of JSON, which is
// `{ failure }` where a peer has failed.

const { answerOrder } = require('../lib/answer-order')
const { fill } = require('./lib/fill')
const { probe } = require('./lib/probe')

// Far above what any of them takes.
const TIMEOUT_MS = 90_000

/**
 * @typedef {object} Order
 * @property {'probe' | 'fill' | 'measure'} task
 * @property {string} peerFile
 * @property {string} [jobFile]
 * @property {'binary' | 'json'} [format]
 * @property {import('./lib/shapes').Setting} setting
 */

setTimeout(() => fail(`did not come to its end within ${TIMEOUT_MS / 1000} s`), TIMEOUT_MS)
// Some peers throw where nobody can catch it.
process.on('uncaughtException', (err) => fail(describe(err)))

// What a peer has left open must not keep the process.
answerOrder(answer).then(() => setImmediate(() => process.exit()))

/** @param {Order} order */
async function answer (order) {
  try {
    return await run(order)
  } catch (err) {
    return { failure: describe(err) }
  }
}

/** @param {string} failure */
function fail (failure) {
  process.stdout.write(`${JSON.stringify({ failure })}\n`)
  process.exit()
}

/** @param {unknown} err */
function describe (err) {
  return String(/** @type {any} */ (err)?.message ?? err).split('\n')[0]
}

/** @param {Order} order */
function run ({ task, peerFile, jobFile, format = 'binary', setting }) {
  /** @type {import('./lib/shapes').Peer} */
  const peer = require(peerFile)
  if (task === 'probe') return probe(peer, setting)
  if (task === 'fill') return fill(peer, setting, format)
  /** @type {import('./lib/shapes').Job} */
  const job = require(String(jobFile))
  return job.measure(peer, setting)
}
