'use strict'
// Many appenders that each wait for their record: how well a log shares its syncs among them.

const { createAppendRow } = require('../lib/append-row')

module.exports = createAppendRow({
  name: 'append-256',
  order: 51,
  what: '256 appenders : SQLite, 256 a commit',
  goal: 1
}, { appenderCount: 256, roundCount: 50 })
