'use strict'
// One appender that waits for each record to be on stable storage: the time of a sync, and what comes on top. So many
// records that what is compiled on the way does not count: the first thousand take twice as long each.

const { createAppendRow } = require('../lib/append-row')

module.exports = createAppendRow({
  name: 'append-one',
  order: 50,
  what: 'append, synced each : SQLite, commit each',
  goal: 1
}, { appenderCount: 1, roundCount: 3000 })
