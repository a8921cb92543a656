'use strict'
// Planted: nobody counts the deletions of a log that was read whole.

exports.why = 'a page from before a deletion brings back what was deleted'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/offset-log/lib/read/checked-reader.js',
  find: 'erasedCount !== null && erasedCount !== cursor.erasedCount',
  replace: 'erasedCount === -1'
}]
