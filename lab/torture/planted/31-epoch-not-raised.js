'use strict'
// Planted: whoever writes after a crash uses the epoch of the writer before.

exports.why = 'what recovery took back fits again, once the same is appended'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-checked.js',
  find: 'Math.min(EPOCH_MAX, epoch + (isUnclean ? 1 : 0))',
  replace: 'Math.min(EPOCH_MAX, epoch)'
}, {
  // Positions that are never used twice hide it: in logs of before there were none.
  file: 'packages/offset-log/lib/checked-store.js',
  find: '(reservation.isAfterLoss ? reservation.sizeToSkip(tail) : 0)',
  replace: '0'
}, {
  file: 'packages/offset-log/lib/checked-store.js',
  find: 'const { isAfterLoss } = this.reservation',
  replace: 'const isAfterLoss = false'
}]
