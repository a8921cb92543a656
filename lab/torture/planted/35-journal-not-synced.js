'use strict'
// Planted: a record is erased when its journal is written, and not yet synced.

exports.why = 'the chunks may reach the disk first: a crash leaves some that do not verify'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/append/eraser.js',
  find: 'await durability.sync()\n    store.erasedCount = null',
  replace: 'store.erasedCount = null'
}]
