'use strict'
// Planted: of a text file only the page of the last line proves a run.

exports.why = 'after an older copy was restored, answers are those of the lines that were'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/offset-log/lib/read/prove-line.js',
  find: 'crc = crc32(encodePages(crcs), crc)',
  replace: 'crc = 0'
}]
