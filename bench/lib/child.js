'use strict'
// One measurement in a process of its own, so that no cache, heap or compiled code is handed from one to the next.
// Usage: node child.js '{ "stackFile", "layerFile", "path", "blockSize", "query" }'; prints one line of JSON.

const fs = require('node:fs')
const { performance } = require('node:perf_hooks')
const { answerOrder } = require('./answer-order')

/**
 * @typedef {object} Order
 * @property {string} stackFile  the module of the stack
 * @property {string} layerFile  the module of the layer
 * @property {string} path  the log
 * @property {number} blockSize
 * @property {string} query
 */

answerOrder(measure)

/**
 * The clock runs from the first read to the last item. Opening (and whatever a stack checks then) is over before.
 * @param {Order} order
 * @returns {Promise<import('./shapes').Answer>}
 */
async function measure ({ stackFile, layerFile, path, blockSize, query }) {
  /** @type {import('./shapes').Stack} */
  const stack = require(stackFile)
  /** @type {import('./shapes').Layer} */
  const layer = require(layerFile)
  const tally = layer.createTally()
  const visit = tally.visit.bind(tally)
  const reader = await stack.primitives[layer.primitive](path, { blockSize, query })

  const started = performance.now()
  await reader.run(visit)
  const ms = performance.now() - started

  // Node gives kibibytes. Taken before the digest is worked out, which is the harness's and not the stack's.
  const peakMemory = process.resourceUsage().maxRSS * 1024
  await reader.close()
  return { ms, bytes: fs.statSync(path).size, peakMemory, ...tally.result() }
}
