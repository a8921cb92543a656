'use strict'
// Planted: the checksums of headers do not begin with the salt.

exports.why = 'a page of another log passes'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/framing/lib/chunk-header.js',
  find: 'header.crc = crc32OfFew(bytes, offset + 4, payloadStart, salt)',
  replace: 'header.crc = crc32OfFew(bytes, offset + 4, payloadStart, 0)'
}, {
  file: 'packages/framing/lib/chunk-header.js',
  find: 'payloadStart, rules.salt) !== header.crc',
  replace: 'payloadStart, 0) !== header.crc'
}]
