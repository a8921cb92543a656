'use strict'
// Planted: what a failed sync of a log of lines has lost is not written again by the next open.

exports.why = 'the page cache shows lines that the disk does not have, and the next sync promises them'
exports.oracle = 'calls-lines'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/open-lines.js',
  find: 'if (SURELY_ON_DISK.includes(blocks.past) || durable >= end) return null',
  replace: 'if (SURELY_ON_DISK.includes(blocks.past) || durable >= 0) return null'
}]
