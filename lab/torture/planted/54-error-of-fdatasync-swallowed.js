'use strict'
// Planted: a sync of a real file that fails is taken for one that succeeds.

exports.why = 'what a disk that failed for a moment did not take is promised'
exports.oracle = 'disk'
exports.patches = [{
  file: 'packages/block-file/lib/storage.js',
  find: 'sync: (cb) => fs.fdatasync(fd, cb),',
  replace: 'sync: (cb) => fs.fdatasync(fd, () => cb(null)),'
}]
