'use strict'
// Planted: what an unclean end has left is taken as the cache shows it.

exports.why = 'after a sync that failed, the next process promises what only its page cache has'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/framing/checked/open-checked.js',
  find: 'const range = { offset: promisedEnd, size: end - promisedEnd }',
  replace: 'return settled()\n    const range = { offset: promisedEnd, size: end - promisedEnd }'
}]
