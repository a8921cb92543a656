'use strict'
// Planted: closing a log closes the file.

exports.why = 'the end of the log is in the page cache when the power goes, though close had called back'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/offset-log.js',
  find: '() => this._isWritable ? durability.finish() : null,',
  replace: ''
}]
