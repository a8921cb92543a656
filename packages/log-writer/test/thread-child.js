'use strict'
// A worker thread that writes numbered records until it is told to end, or for ever.

const { workerData, parentPort } = require('node:worker_threads')
const { ThreadWriter } = require('../threads')

const { channel, options, name, count, sizes = [10], level = 'info', progress, pauseEvery = Infinity } = workerData
const writer = ThreadWriter(channel, options)
const submitted = progress && new Int32Array(progress)

async function run () {
  for (let n = 0; n < count; n++) {
    const text = String.fromCharCode(97 + n % 26).repeat(sizes[n % sizes.length])
    const record = { name, n, text }
    const json = JSON.stringify(record)
    writer.write([record, json, Buffer.from(json)][n % 3], level)
    if (submitted) Atomics.store(submitted, 0, n + 1)
    if (n % pauseEvery === pauseEvery - 1) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  parentPort.postMessage(writer.counters())
}

run()
