'use strict'
// Planted: pages that go into the cache are not verified.

exports.why = 'get gives records with flipped bits in them'
exports.oracle = 'damage'
exports.patches = [{
  file: 'packages/offset-log/lib/read/page-cache.js',
  find: 'checkPage(page, rules, unfinished)',
  replace: 'checkPage(page, { ...rules, verify: false }, unfinished)'
}]
