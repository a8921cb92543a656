'use strict'
// Planted: a journal may name chunks that are not on stable storage.

exports.why = 'a crash takes the chunks, and the journal counts what is not there'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/append/eraser.js',
  find: 'if (lastStart >= checkpoints.durableEnd) await',
  replace: 'if (lastStart < 0) await'
}]
