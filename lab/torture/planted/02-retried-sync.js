'use strict'
// Planted: a sync that fails is tried again, as one would do with a write.

exports.why = 'the kernel has forgotten what it could not write: the second sync writes nothing, and is believed'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/block-file/lib/writer.js',
  find: 'handle.sync((err) => err ? done(err)',
  replace: 'handle.sync((err) => err ? handle.sync(done)'
}]
