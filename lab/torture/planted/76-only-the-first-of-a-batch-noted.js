'use strict'
// Planted: a decision is told only of the first record of a batch that comes meanwhile.

exports.why = 'the others of the batch conflict with what is accepted'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'records.some(watch.isMatch)',
  replace: 'records.slice(0, 1).some(watch.isMatch)'
}]
