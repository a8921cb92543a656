'use strict'
// Planted: the unsynced end is cut while its copy is in the page cache only.

exports.why = 'the power takes both, and records that were shown are gone though the disk had them'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: `      await promisesOf(copy).append(trailer)
      await promisesOf(copy).sync()`,
  replace: '      await promisesOf(copy).append(trailer)'
}]
