'use strict'
// Planted: the index takes no notice of deletions.

exports.why = 'deleted records are counted'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/indexer.js',
  find: "if (segment !== null && 'noteLoss' in segment) segment.noteLoss()",
  replace: "if (segment !== null && 'noteLoss' in segment) void segment"
}]
