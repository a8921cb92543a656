'use strict'
// Planted: a log that was opened after a power cut and closed again, with nothing appended, counts as closed cleanly.

exports.why = 'the next one goes on with the seqs of what is lost'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/framing/lib/head.js',
  find: 'if (this.isAfterLoss) {',
  replace: 'if (this.isAfterLoss && !isLast) {'
}]
