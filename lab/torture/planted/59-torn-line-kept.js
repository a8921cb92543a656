'use strict'
// Planted: a torn end of a log of lines stays in the file.

exports.why = 'the next line is written after it, and both are one line that is none'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-lines.js',
  find: '  if (store.end < fileSize) {\n    recovery = torn(store.end, fileSize)\n    recovery.keptAt = await cutEnd(',
  replace: '  if (store.end < fileSize) {\n    recovery = torn(store.end, fileSize)\n    recovery.keptAt = null && await cutEnd('
}]
