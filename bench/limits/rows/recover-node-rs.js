'use strict'
// What a crash costs at the next open, with the faster checksum.

const { nodeRsCrc32 } = require('../lib/optional')
const { createRecoveryRow } = require('../lib/recovery-row')

module.exports = createRecoveryRow({
  name: 'recover-node-rs',
  order: 41,
  what: 'recover 64 MiB, node-rs : read, checksum',
  needs: nodeRsCrc32
})
