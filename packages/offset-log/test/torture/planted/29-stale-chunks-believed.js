'use strict'
// Planted: neither the link to the chunk before nor the epoch is compared.

exports.why = 'a lost write brings back what recovery took back'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/offset-log/lib/framing/checked/chunk-cursor.js',
  find: 'this._identity !== UNKNOWN && header.previous !== this._identity',
  replace: 'header.previous < 0'
}, {
  file: 'packages/offset-log/lib/framing/checked/chunk-cursor.js',
  find: 'header.epoch < this._epoch',
  replace: 'header.epoch < 0'
}]
