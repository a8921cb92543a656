'use strict'
// As many records a commit as fill 60 kB, which is what a busy log coalesces without being told.

const { createSpaceRow } = require('../lib/space-row')

module.exports = createSpaceRow({
  name: 'space-batch',
  order: 20,
  what: 'space beyond payload, 87 records a commit',
  goal: 0.025
}, { commitCount: 1000, recordsPerCommit: 87 })
