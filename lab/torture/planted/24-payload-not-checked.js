'use strict'
// Planted: the checksum of the data is compared with nothing.

exports.why = 'flipped bits are read as records'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/framing/lib/chunk-header.js',
  find: 'crc32(payload) === header.payloadCrc',
  replace: 'crc32(payload) >= 0'
}]
