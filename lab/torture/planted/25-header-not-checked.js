'use strict'
// Planted: the checksum of the header is compared with nothing.

exports.why = 'flipped bits in what the header alone says go unseen'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/framing/lib/chunk-header.js',
  find: 'if (isSummed && crc32OfFew(',
  replace: 'if (!isSummed && crc32OfFew('
}]
