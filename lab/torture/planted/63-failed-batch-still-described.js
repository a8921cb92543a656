'use strict'
// Planted: the description of a batch whose write failed stays the newest.

exports.why = 'after a crash the lines behind it are cut, though they were promised'
exports.oracle = 'calls-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    if (!this.#isBegun || this.#hasFailed) return this.#beginSession()',
  replace: '    if (!this.#isBegun) return this.#beginSession()'
}, {
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    if ((this.#isBegun && !this.#hasFailed) || this.#sums === null) return\n',
  replace: '    if (this.#isBegun || this.#sums === null) return\n'
}]
