'use strict'
// Planted: a chunk need not follow from the one before it.

exports.why = 'old blocks that the file gets again pass for what was appended'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/framing/lib/chunk-cursor.js',
  find: 'this._chainCrc !== UNKNOWN && header.previous !== this._chainCrc',
  replace: 'header.previous < 0'
}]
