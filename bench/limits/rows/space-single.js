'use strict'
// The most that the format can cost: a header for every record.

const { createSpaceRow } = require('../lib/space-row')

module.exports = createSpaceRow({
  name: 'space-single',
  order: 21,
  what: 'space beyond payload, 1 record a commit',
  goal: 0.12
}, { commitCount: 50000, recordsPerCommit: 1 })
