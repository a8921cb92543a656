'use strict'
// Planted: a log of lines that is being written says that it was closed.

exports.why = 'after a crash the log takes what the crash has done for the work of another program'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    await this.#writeDescription(false)',
  replace: '    await this.#writeDescription(true)'
}]
