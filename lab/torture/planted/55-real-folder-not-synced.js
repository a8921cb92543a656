'use strict'
// Planted: a sync of a real folder does nothing.

exports.why = 'a new file, or a compacted one, has lost its name when the power goes'
exports.oracle = 'disk'
exports.patches = [{
  file: 'packages/block-file/lib/storage.js',
  find: 'syncFolder: callbackify(syncFolder),',
  replace: 'syncFolder: (_, cb) => nextTick(cb, null),'
}]
