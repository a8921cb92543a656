'use strict'
// Planted: a record is erased in place, and nothing is written before.

exports.why = 'a crash in between leaves chunks that do not verify, and a log that is read-only'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/append/eraser.js',
  find: 'await promisesOf(blocks).writeQuietly(journal, JOURNAL_POSITIONS[round % 2])',
  replace: 'await null'
}]
