'use strict'
// Planted: appending does not ask whether the log is poisoned.

exports.why = 'appends call back that are behind a hole'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: 'durability.error || taken.size === 0',
  replace: 'taken.size === 0'
}, {
  file: 'packages/offset-log/lib/offset-log.js',
  find: ' ?? this._file.durability.error',
  replace: ''
}]
