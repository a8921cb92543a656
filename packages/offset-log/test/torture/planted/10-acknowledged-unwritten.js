'use strict'
// Planted: appends call back when they are handed to the file.

exports.why = 'they are lost with the process'
exports.oracle = 'kill'
// A process that is told of an append that is not there ends by itself.
exports.kinds = ['promised lost', 'thrown']
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: '    blocks.append(framed.bytes,',
  replace: '    group.dones.slice(0, group.count).forEach((done, index) => done(null, group.seqs[index]))\n    blocks.append(framed.bytes,'
}]
