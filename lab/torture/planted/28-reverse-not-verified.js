'use strict'
// Planted: a scan backwards does not verify what it reads.

exports.why = 'it gives records with flipped bits in them'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/offset-log/lib/read/checked-backward-reader.js',
  find: 'super(store, wanted, pageStart)\n',
  replace: 'super(store, wanted, pageStart)\n    this._cursor._rules = { ...store.rules, verify: false }\n'
}]
