'use strict'
// Planted: the keys of the last appends go on after the index has got another key.

exports.why = 'its runs are asked for hashes that they do not have'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/index/lib/recent-keys.js',
  find: 'if (this.#indexer.keys !== this.#keys) this.stop(this.#isPaused)',
  replace: ''
}]
