'use strict'
// Planted: records are shown as soon as it is written, but not synced, how far they may go.

exports.why = 'if the power takes that too, nobody knows that anything is lost'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/append/checkpoints.js',
  find: 'reservation.extend(begin) })\n    await this.#sync()\n',
  replace: 'reservation.extend(begin) })\n'
}]
