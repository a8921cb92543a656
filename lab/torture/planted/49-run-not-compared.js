'use strict'
// Planted: what the sum of many chunks should be is compared with nothing.

exports.why = 'flipped bits are read as records wherever two chunks lie together'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/framing/lib/chunk-cursor.js',
  find: 'if ((sum | 0) === this._expected)',
  replace: 'if ((sum | 0) !== NaN)'
}]
