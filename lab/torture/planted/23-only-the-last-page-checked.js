'use strict'
// Planted: recovery looks at the last page, and believes the others.

exports.why = 'what the power cut off lies in the middle of the log'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/framing/lib/tail-walk.js',
  find: 'const last = Math.max(HEAD_SIZE, end - 1)',
  replace: 'const last = Math.max(HEAD_SIZE, fileSize - 1)'
}]
