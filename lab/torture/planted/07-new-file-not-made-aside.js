'use strict'
// Planted: the head of a new file is written into it where it is.

exports.why = 'a crash leaves a log with half a head, which nobody can open'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/block-file/lib/open.js',
  find: 'const temporary = filePath + TEMPORARY',
  replace: 'const temporary = filePath'
}]
