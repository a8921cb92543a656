'use strict'
// Planted: a sync that fails is a failure of that call, and of nothing else.

exports.why = 'the log goes on over pages that will never be written, and promises what comes after them'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: 'const error = cause ? this.poison(cause) : null',
  replace: 'const error = cause'
}]
