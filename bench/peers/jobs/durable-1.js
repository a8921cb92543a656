'use strict'
// One appender that waits until its record is on stable storage.

const { appendDurably, createAppendJob } = require('../lib/append-job')

module.exports = createAppendJob({
  name: 'durable-1',
  order: 20,
  meaning: 'one at a time, each synced',
  mode: 'durable'
}, (store, records, seconds) => appendDurably(store, records, { seconds, appenders: 1 }), false)
