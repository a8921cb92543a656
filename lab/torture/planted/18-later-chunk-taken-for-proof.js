'use strict'
// Planted: what is before a good chunk counts as promised.

exports.why = 'sectors reach the disk in any order: a write that the power cut off is called damage'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/framing/lib/tail-walk.js',
  find: 'this.#claimedEnd, start - (position - durable))',
  replace: 'this.#claimedEnd, start)'
}]
