'use strict'
// Planted: a commit can be read page by page.

exports.why = 'readers beside the writer see part of a batch'
exports.oracle = 'live'
exports.patches = [{
  file: 'packages/offset-log/lib/checked-store.js',
  find: 'this.setEnd(packed.tail)',
  replace: 'const end = Math.min(packed.tail.end, tail.end - tail.end % 16384 + 16384)\n' +
    '        this.setEnd({ ...tail, end })\n        setImmediate(() => this.setEnd(packed.tail))'
}]
