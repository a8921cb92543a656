'use strict'
// Planted: a sync of a real file does nothing.

exports.why = 'what was promised is in the page cache, and gone with the power; no simulated disk is asked'
exports.oracle = 'disk'
exports.patches = [{
  file: 'packages/block-file/lib/storage.js',
  find: 'sync: (cb) => fs.fdatasync(fd, cb),',
  replace: 'sync: (cb) => nextTick(cb, null),'
}]
