'use strict'
// A Worker that builds the index of a log.

const { parentPort, workerData } = require('node:worker_threads')
const { runBuilder } = require('@millrace/index')
const { OffsetLog } = require('@millrace/offset-log')
const { CODECS } = require('../../lib/readers')

runBuilder(parentPort, (index) => OffsetLog(workerData, { codec: CODECS.json, flags: 'r', index }))
