'use strict'
// Planted: of appends that are written together only single ones wait for their sync.

exports.why = 'appends call back that are lost with the power, under fsync always'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: "durability.mode === 'always' && commit.packed !== null",
  replace: "durability.mode === 'always' && commit.packed !== null && commit.count === 1"
}, {
  file: 'packages/offset-log/lib/appender.js',
  find: "if (durability.mode !== 'always') this.#show(commit)",
  replace: "if (durability.mode !== 'always' || commit.count > 1) this.#show(commit)"
}]
