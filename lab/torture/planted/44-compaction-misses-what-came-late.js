'use strict'
// Planted: what was appended while a compaction copied is not copied after it.

exports.why = 'records that were acknowledged are in no file any more'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/maintenance.js',
  find: `    syncedSince = writtenSince
    await compactor.copyTo(file.logEnd, onProgress)`,
  replace: '    syncedSince = writtenSince'
}]
