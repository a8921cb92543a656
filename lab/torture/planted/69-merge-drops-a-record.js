'use strict'
// Planted: a merge drops the last record of each list.

exports.why = 'records are missing once their runs have become one'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/merge-keys.js',
  find: 'for (let at = count - 1; at >= 0; at--) {',
  replace: 'for (let at = count - 1; at > 0; at--) {'
}]
