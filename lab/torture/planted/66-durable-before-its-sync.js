'use strict'
// Planted: the sums of lines say that all is durable that is written.

exports.why = 'what the next session promises is not on the disk'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '      durable: Math.min(this.durableEnd, start.end),',
  replace: '      durable: start.end,'
}]
