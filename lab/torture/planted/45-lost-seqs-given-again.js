'use strict'
// Planted: after an unclean end the log goes on where what is left of it ends.

exports.why = 'what is appended then has the seq of a record that somebody has seen, and that is lost'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/checked-store.js',
  find: '(reservation.isAfterLoss ? reservation.sizeToSkip(tail) : 0)',
  replace: '0'
}]
