'use strict'
// Planted: recovery ends the log after any good chunk.

exports.why = 'after a crash part of a batch is there'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/framing/lib/tail-walk.js',
  find: 'if (header.commitContinues) return',
  replace: ''
}]
