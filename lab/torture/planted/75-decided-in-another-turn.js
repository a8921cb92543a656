'use strict'
// Planted: once a decision has read everything, the append comes some turns later.

exports.why = 'an append that came in between conflicts, and both are accepted'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'this.#watches.delete(watch)\n          accept()',
  replace: 'this.#watches.delete(watch)\n          await new Promise(setImmediate)\n          accept()'
}]
