'use strict'
// Planted: recovery cuts at the first thing that is wrong, promised or not.

exports.why = 'what was on stable storage is thrown away for one flipped bit'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/framing/lib/tail-walk.js',
  find: 'promisedEnd > end || isBefore ||',
  replace: ''
}]
