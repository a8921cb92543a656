'use strict'
// Planted: a chunk before padding does not say that its commit goes on.

exports.why = 'after a crash part of a batch is there'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/framing/lib/pack-commit.js',
  find: 'this._putZeros(room)\n    this._closeChunk(CHUNK_FLAGS.COMMIT_CONTINUES)',
  replace: 'this._putZeros(room)\n    this._closeChunk(0)'
}]
