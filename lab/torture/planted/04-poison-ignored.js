'use strict'
// Planted: appending does not ask whether the log is poisoned.

exports.why = 'appends call back that are after a hole'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: 'if (durability.error !== null && commit.size > 0) throw durability.error',
  replace: ''
}, {
  file: 'packages/offset-log/lib/offset-log.js',
  find: ' ?? this._file.durability.error',
  replace: ''
}]
