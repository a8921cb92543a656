'use strict'
// Planted: the description of a batch of lines is not synced before the batch is written.

exports.why = 'the power takes the description and half of the batch'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: 'const isSynced = isBatch && (this.#isAlways || !this.#describesAll)',
  replace: 'const isSynced = false'
}]
