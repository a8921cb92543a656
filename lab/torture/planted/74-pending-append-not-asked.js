'use strict'
// Planted: an append that waits to be written is not asked.

exports.why = 'two appends that exclude each other are both accepted'
exports.oracle = 'conditions'
exports.patches = [{
  file: 'packages/offset-log/lib/append-condition.js',
  find: 'return !isRuledOut && this.#queue.hasUnread(isMatch)',
  replace: 'return !isRuledOut && this.#queue.hasUnread(isMatch) && false'
}]
