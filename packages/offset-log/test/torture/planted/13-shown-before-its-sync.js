'use strict'
// Planted: under fsync always, records can be read once they are written.

exports.why = 'readers act on what is gone when the power goes'
exports.oracle = 'live'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: 'durability.sync((err) => err',
  replace: 'this.#show(framed)\n      durability.sync((err) => err'
}]
