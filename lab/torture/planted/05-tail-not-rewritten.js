'use strict'
// Planted: what an unclean end has left is taken as the cache shows it.

exports.why = 'after a sync that failed, the next process promises what only its page cache has'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-checked.js',
  find: "const isDurable = blocks.past === 'intact' || restoredEnd >= end",
  replace: 'const isDurable = true'
}]
