'use strict'
// Planted: the checksum of the data is compared with nothing.

exports.why = 'flipped bits are read as records'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/offset-log/lib/framing/checked/chunk-header.js',
  find: 'if (verify && crc32(',
  replace: 'if (!verify && crc32('
}]
