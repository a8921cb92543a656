'use strict'
// Planted: a log of lines does not look at the end of its file before it writes.

exports.why = 'what another program has appended meanwhile is overwritten'
exports.oracle = 'foreign-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/lines-store.js',
  find: '    if (blocks.endsAsLeft) return\n',
  replace: '    if (blocks !== null) return\n'
}]
