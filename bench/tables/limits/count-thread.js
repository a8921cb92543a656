'use strict'
// A thread that counts the records of a range of a log, as often as it gets one. It opens the log once.

const { parentPort, workerData } = require('node:worker_threads')
const { OffsetLog } = require('@millrace/offset-log')
const { Counts } = require('../../lib/measure')

const log = OffsetLog(workerData, { flags: 'r', cache: 0 })

parentPort?.on('message', async (/** @type {import('@millrace/offset-log').Partition} */ range) => {
  const counts = new Counts()
  await log.scan(range, (run) => counts.addRecords(run))
  parentPort?.postMessage({ ...counts })
})
