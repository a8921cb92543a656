'use strict'
// Planted: each checkpoint is written over the one before.

exports.why = 'a torn one takes the newest with it, and leaves one from long ago'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/offset-log/lib/append/checkpoints.js',
  find: 'index: 1 - this.#slotIndex',
  replace: 'index: this.#slotIndex'
}]
