'use strict'
// Planted: of a batch, the seq of its first record is noted.

exports.why = 'what comes after that record in the batch does not conflict'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'Array.isArray(seq) ? seq[seq.length - 1] : seq',
  replace: 'Array.isArray(seq) ? seq[0] : seq'
}]
