'use strict'
// Planted: the keys of the last appends are sought in the table of another path.

exports.why = 'records that match are not found'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/recent-keys.js',
  find: 'this.#tables[cover.slot].get(hash)',
  replace: 'this.#tables[0].get(hash)'
}]
