'use strict'
// Planted: a torn end is cut without a copy.

exports.why = 'what might have been looked at is gone'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: 'contentEnd === end ? null : await',
  replace: 'contentEnd !== -1 ? null : await'
}]
