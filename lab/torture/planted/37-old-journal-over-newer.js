'use strict'
// Planted: the newer of two journals is carried out first.

exports.why = 'a chunk gets the header that it had before its last deletion'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/framing/lib/head.js',
  find: 'a.round - b.round',
  replace: 'b.round - a.round'
}]
