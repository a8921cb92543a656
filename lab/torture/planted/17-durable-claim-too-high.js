'use strict'
// Planted: chunks say that all before them is on stable storage, when it is only written.

exports.why = 'a write that the power cut off is called damage'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/checked-store.js',
  find: 'durable = this.checkpoints.durableEnd + shift',
  replace: 'durable = tail.end + shift'
}]
