'use strict'
// Millrace on the files of flumelog-offset.

const { createMillracePeer } = require('../lib/millrace-peer')

module.exports = createMillracePeer({
  name: 'offset32',
  order: 20,
  label: 'Millrace, offset32',
  packages: ['@millrace/offset-log', '@millrace/binary-codec']
}, 'offset32')
