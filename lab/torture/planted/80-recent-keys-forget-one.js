'use strict'
// Planted: the keys of the last appends forget one append too many, when runs have those before.

exports.why = 'its record does not conflict'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/recent-keys.js',
  find: 'this.#oldest = last + 1',
  replace: 'this.#oldest = Math.min(last + 2, this.#next)'
}]
