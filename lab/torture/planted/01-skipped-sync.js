'use strict'
// Planted: the file is never synced, though every sync says so.

exports.why = 'what was promised is in the page cache when the power goes'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: 'const syncing = blocks.beginSync()',
  replace: 'const syncing = null'
}, {
  file: 'packages/offset-log/lib/durability.js',
  find: 'if (!blocks.trySync()) return false',
  replace: 'if (this.error !== null) return false'
}]
