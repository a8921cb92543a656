'use strict'
// Planted: a run is used though the log does not have its last record.

exports.why = 'after a power cut there are runs of records that are gone, and others may be in their place'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/run-folder.js',
  find: 'await host.lastOf(last) && await host.proof(last) === proof && await this.#isEmpty(last + 1, to)',
  replace: 'true'
}, {
  file: 'packages/index/lib/run-folder.js',
  find: "if (to > host.end) return 'it goes on after the end of the log'",
  replace: ''
}]
