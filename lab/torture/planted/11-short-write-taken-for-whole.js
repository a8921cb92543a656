'use strict'
// Planted: what the kernel took of a write is taken for all of it.

exports.why = 'the rest of the commit is never written'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/block-file/lib/whole-io.js',
  find: 'if (done === buf.length) cb(null)\n',
  replace: 'if (done > 0) cb(null)\n'
}, {
  file: 'packages/block-file/lib/whole-io.js',
  find: 'for (let done = 0; done < buf.length;)',
  replace: 'for (let done = 0; done === 0;)'
}]
