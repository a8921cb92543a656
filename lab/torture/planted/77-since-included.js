'use strict'
// Planted: the record at `since` itself is asked, too.

exports.why = 'whoever has read everything is refused'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'for (let from = since + 1; ;)',
  replace: 'for (let from = since; ;)'
}]
