'use strict'
// Planted: the description of a batch whose write failed stays the newest.

exports.why = 'after a crash the lines after it are cut, though they were promised'
exports.oracle = 'calls-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    return !this.#isBegun || this.#hasFailed\n',
  replace: '    return !this.#isBegun\n'
}]
