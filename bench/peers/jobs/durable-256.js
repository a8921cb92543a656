'use strict'
// 256 such appenders: how well a peer shares its syncs among them.

const { appendDurably, createAppendJob } = require('../lib/append-job')

module.exports = createAppendJob({
  name: 'durable-256',
  order: 30,
  meaning: '256 in flight, each synced',
  mode: 'durable'
}, (store, records, seconds) => appendDurably(store, records, { seconds, appenders: 256 }), false)
