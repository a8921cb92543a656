// @ts-nocheck
'use strict'
// A thread that runs a campaign, and tells how it goes.

const { parentPort, workerData } = require('node:worker_threads')
const { runCampaign } = require('./campaign')

const onProgress = (progress) => parentPort.postMessage({ progress })

runCampaign({ ...workerData, onProgress }).then((result) => {
  parentPort.postMessage({ result }, [result.figures.hashes.buffer])
})
