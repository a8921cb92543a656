'use strict'
// Planted: a table of keys that gets larger forgets one number that is still asked for.

exports.why = 'its records do not conflict'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/hash-table.js',
  find: 'if (before[at + 2] >= least) this.#set',
  replace: 'if (before[at + 2] > least) this.#set'
}]
