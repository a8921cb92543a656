'use strict'
// Planted: a scan backwards does not ask whether a page belongs before the next one.

exports.why = 'a lost write brings back what recovery took back'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/offset-log/lib/read/checked-backward-reader.js',
  find: 'const fitsNext = this',
  replace: 'const fitsNext = true || this'
}]
