'use strict'
// Planted: a run is used though the chain value of its last record is another one.

exports.why = 'after an older copy was restored, answers are those of the log that was'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/run-folder.js',
  find: 'await host.proof(last) === proof',
  replace: 'await host.proof(last) !== null'
}]
