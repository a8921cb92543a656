'use strict'
// Planted: who goes on from a record that is lost goes on with the first one after it.

exports.why = 'a view that has seen the record never learns that it is lost'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/read/checked-reader.js',
  find: 'if (end < from && from <= position)',
  replace: 'if (end < from && from < end)'
}]
