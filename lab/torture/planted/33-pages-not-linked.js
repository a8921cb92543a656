'use strict'
// Planted: get takes the rest of a record from the next page, whichever that is.

exports.why = 'a lost write gives the beginning of one record and the end of another'
exports.oracle = 'leftovers'
exports.patches = [{
  file: 'packages/offset-log/lib/read/checked-record.js',
  find: 'if (header.previous !== chainCrc || !header.hasRest(piece)) return false',
  replace: 'if (!header.hasRest(piece)) return false'
}, {
  // Positions that are never used twice hide it: in logs of before there were none.
  file: 'packages/offset-log/lib/checked-store.js',
  find: '(reservation.isAfterLoss ? reservation.sizeToSkip(tail) : 0)',
  replace: '0'
}]
