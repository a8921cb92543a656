'use strict'
// A thread that runs a campaign, and tells how it goes.

const { parentPort, workerData } = require('node:worker_threads')
const { runCampaign } = require('./campaign')

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
const onProgress = (/** @type {any} */ progress) => port.postMessage({ progress })

runCampaign({ ...workerData, onProgress }).then((result) => {
  const { hashes } = /** @type {any} */ (result.figures)
  port.postMessage({ result }, [hashes.buffer])
})
