'use strict'
// Planted: what was appended while a compaction copied is not copied after it.

exports.why = 'records that were acknowledged are in no file any more'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/compaction.js',
  find: 'this._copyTo(file.end, (err) => {',
  replace: 'this._copyTo(this._compactor.copiedEnd, (err) => {'
}]
