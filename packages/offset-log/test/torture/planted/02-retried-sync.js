'use strict'
// Planted: a sync that fails is tried again, as one would do with a write.

exports.why = 'the kernel has forgotten what it could not write: the second sync writes nothing, and is believed'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/block-file/lib/writer.js',
  find: 'isSmall, (err) => {\n        if (err) return done(err)',
  replace: 'isSmall, (err) => {\n        if (err) return handle.sync(done)'
}]
