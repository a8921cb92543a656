'use strict'
// Planted: under fsync always, records can be read once they are written.

exports.why = 'readers act on what is gone when the power goes'
exports.oracle = 'live'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: "if (durability.mode !== 'always') this.#show(commit)",
  replace: 'this.#show(commit)'
}]
