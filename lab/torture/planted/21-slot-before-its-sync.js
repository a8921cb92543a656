'use strict'
// Planted: a checkpoint is written together with what it vouches for.

exports.why = 'it may reach the disk first: a write that the power cut off is called damage'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: 'const syncing = blocks.beginSync()',
  replace: 'checkpoints.synced(mark, needsSlot)\n      const syncing = blocks.beginSync()'
}, {
  file: 'packages/offset-log/lib/durability.js',
  find: 'if (!blocks.trySync()) return false',
  replace: 'checkpoints.synced(mark, false)\n      if (!blocks.trySync()) return false'
}]
