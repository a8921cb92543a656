'use strict'
// Planted: a batch of lines is not described beside the log before it is written.

exports.why = 'after a power cut or a kill half of the batch is there, and nothing says that it is half'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    if (!isBatch && !this.#describesAll) return null\n',
  replace: '    if (!this.#describesAll) return null\n'
}]
