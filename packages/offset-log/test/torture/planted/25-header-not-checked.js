'use strict'
// Planted: the checksum of the header is compared with nothing.

exports.why = 'flipped bits in what the header alone says go unseen'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/offset-log/lib/framing/checked/chunk-header.js',
  find: 'if (isSummed && crc32OfFew(',
  replace: 'if (!isSummed && crc32OfFew('
}]
