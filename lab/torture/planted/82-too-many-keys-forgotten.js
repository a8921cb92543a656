'use strict'
// Planted: of an append with more keys than there is room for, some are forgotten.

exports.why = 'its records do not conflict'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/recent-keys.js',
  find: 'if (this.#hashCount >= this.#hashesMax) return this.#noteOdd()',
  replace: 'if (this.#hashCount >= this.#hashesMax) return'
}]
