'use strict'
// Planted: a deletion is finished from the journal that the cache shows.

exports.why = 'after a sync that failed the disk does not have it, and a second crash leaves chunks that do not verify'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-checked.js',
  find: 'for (const journal of journals) {\n    await promisesOf(blocks).',
  replace: 'for (const journal of []) {\n    await promisesOf(blocks).'
}]
