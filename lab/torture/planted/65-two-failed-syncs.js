'use strict'
// Planted: if the syncs of both files of a log of lines fail, nobody waits for the second.

exports.why = 'an unhandled rejection ends the process'
exports.oracle = 'calls-lines'
exports.kinds = ['thrown']
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: '      besides?.catch(() => {})\n',
  replace: ''
}]
