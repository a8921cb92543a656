'use strict'
// Millrace on its own format, where every byte is verified as it is read.

const { createMillraceStack } = require('../lib/millrace-stack')

module.exports = createMillraceStack({
  name: 'checked',
  label: 'Millrace, checked',
  order: 20,
  framing: 'checked',
  // Optional: without it the checksums are those of node:zlib.
  packages: ['@node-rs/crc32']
})
