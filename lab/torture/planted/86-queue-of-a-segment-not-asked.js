'use strict'
// Planted: appends that wait for the next segment are not asked.

exports.why = 'two appends that exclude each other are both accepted'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/segmented-log/lib/appending.js',
  find: 'return isWaiting || sinkOf',
  replace: 'return sinkOf'
}]
