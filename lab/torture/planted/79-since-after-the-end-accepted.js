'use strict'
// Planted: a `since` that the log does not have is accepted.

exports.why = 'a client that knows records which the log has lost overwrites what came since'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'return since < this.#file.logEnd && this.#isThere(since) && (this',
  replace: 'return (this'
}]
