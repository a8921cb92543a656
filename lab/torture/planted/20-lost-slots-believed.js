'use strict'
// Planted: a log without checkpoints counts as one that has promised nothing.

exports.why = 'what was on stable storage is thrown away for one flipped bit'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/framing/lib/tail-walk.js',
  find: 'this.#isBlind ? this.#fileSize :',
  replace: ''
}]
