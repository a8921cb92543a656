'use strict'
// Planted: the copy of a torn end is not synced before the end is cut.

exports.why = 'a second crash takes both'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: 'await promisesOf(copy).sync()\n  } catch',
  replace: '} catch'
}]
