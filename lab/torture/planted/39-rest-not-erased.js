'use strict'
// Planted: of a record that goes on in the next page only the first piece becomes zeros.

exports.why = 'deleted bytes can still be found in the file'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/framing/lib/journal.js',
  find: 'payload.fill(0, start, start + size)',
  replace: 'if (mark !== 0) payload.fill(0, start, start + size)'
}]
