'use strict'
// What verifying costs where nothing but Node is installed.

const { createScanRow } = require('../lib/scan-row')

module.exports = createScanRow({
  name: 'scan-zlib',
  order: 10,
  what: 'verified scan, zlib.crc32 : bare loop',
  drawn: 'every record, verified, zlib',
  goal: 3,
  env: { MILLRACE_CRC32: 'zlib' }
})
