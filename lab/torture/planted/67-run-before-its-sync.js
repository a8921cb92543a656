'use strict'
// Planted: a run is written before its records are on stable storage.

exports.why = 'after a power cut there are runs of records that are gone'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/indexer.js',
  find: 'if (this.#host.durableEnd < block.to) await this.#host.sync()',
  replace: ''
}, {
  file: 'packages/index/lib/indexer.js',
  find: 'if (durableEnd < block.to) throw new Error',
  replace: 'if (durableEnd < 0) throw new Error'
}]
