'use strict'
// Planted: of appends that are written together only single ones wait for their sync.

exports.why = 'appends call back that are lost with the power, under fsync always'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/appender.js',
  find: "if (durability.mode !== 'always') {",
  replace: "if (durability.mode !== 'always' || group.count > 1) {"
}]
