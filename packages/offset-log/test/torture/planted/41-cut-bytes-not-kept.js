'use strict'
// Planted: a torn end is cut without a copy.

exports.why = 'what might have been looked at is gone'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-checked.js',
  find: 'if (contentEnd !== end) recovery.keptAt = await',
  replace: 'if (contentEnd === -1) recovery.keptAt = await'
}]
