'use strict'
// Planted: a sync of a log of lines leaves the file beside it alone.

exports.why = 'the power takes the descriptions, and the next open cuts lines that were promised'
exports.oracle = 'torture-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/append/lines-checkpoints.js',
  find: '    return this.#describesAll || this.#next !== null ? this.#syncSums() : null',
  replace: '    return null'
}]
