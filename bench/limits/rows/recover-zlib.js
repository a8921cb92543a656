'use strict'
// What a crash costs at the next open, where nothing but Node is installed.

const { createRecoveryRow } = require('../lib/recovery-row')

module.exports = createRecoveryRow({
  name: 'recover-zlib',
  order: 40,
  what: 'recover 64 MiB, zlib : read, checksum',
  env: { MILLRACE_CRC32: 'zlib' }
})
