'use strict'
// Planted: the folder of a new file is not synced.

exports.why = 'the file is gone with its name when the power goes'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/block-file/lib/open.js',
  find: 'await promisesOf(storage).syncFolder(path.dirname(filePath))',
  replace: ''
}, {
  file: 'packages/block-file/lib/block-file.js',
  find: "hasUnsyncedName = this.flags === 'r+'",
  replace: 'hasUnsyncedName = false'
}]
