'use strict'
// Planted: the keys of the last appends are asked for numbers of a path with ranges, which they do not have.

exports.why = 'records that match are not found'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/recent-keys.js',
  find: "if (cover.kind === 'values') return Infinity",
  replace: "if (cover.kind === 'values') return this.#first - 1"
}]
