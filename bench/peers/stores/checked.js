'use strict'
// Millrace on its own format: every byte is verified as it is read.

const { createMillracePeer } = require('../lib/millrace-peer')

module.exports = createMillracePeer({
  name: 'checked',
  order: 10,
  label: 'Millrace, checked',
  packages: ['@millrace/offset-log', '@millrace/binary-codec', '@node-rs/crc32']
}, 'checked')
