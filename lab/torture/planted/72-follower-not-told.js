'use strict'
// Planted: the index of a reader is not told that the log goes on in another file.

exports.why = 'the reader counts records that are gone'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/offset-log/lib/follower.js',
  find: 'file.store = found\n      this.#tellMayDiffer()',
  replace: 'file.store = found'
}]
