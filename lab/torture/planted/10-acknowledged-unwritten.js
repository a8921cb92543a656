'use strict'
// Planted: appends call back when they are handed to the file.

exports.why = 'they are lost with the process'
exports.oracle = 'kill'
// A process that is told of an append that is not there ends by itself.
exports.kinds = ['promised lost', 'thrown']
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: 'const writing = blocks.beginAppend(',
  replace: 'commit.dones.slice(0, commit.count).forEach((done, index) => done(null, commit.seqs[index]))\n        const writing = blocks.beginAppend('
}]
