'use strict'
// Planted: a commit can be read page by page.

exports.why = 'readers beside the writer see part of a batch'
exports.oracle = 'live'
exports.patches = [{
  file: 'packages/offset-log/lib/checked-store.js',
  find: '    this.setEnd(tail)\n',
  replace: '    const start = tail.end - bytes.length\n' +
    '    this.setEnd({ ...tail, end: Math.min(tail.end, start - start % 16384 + 16384) })\n' +
    '    setImmediate(() => this.setEnd(tail))\n'
}]
