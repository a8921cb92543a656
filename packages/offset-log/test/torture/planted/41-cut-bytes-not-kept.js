'use strict'
// Planted: a torn end is cut without a copy.

exports.why = 'what might have been looked at is gone'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/framing/checked/open-checked.js',
  find: 'keepCutBytes(file.blocks, end, contentEnd, file.storage, (err,',
  replace: 'process.nextTick((err,'
}]
