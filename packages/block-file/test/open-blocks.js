'use strict'
// A block file of a test's own, with its methods as promises.

const fs = require('node:fs')
const { promisify } = require('node:util')
const { newPath } = require('@millrace/testkit')
const { BlockFile } = require('..')

/** A file of its own with the given bytes, and its methods as promises. */
function open (bytes, options) {
  const file = newPath('blocks')
  if (bytes) fs.writeFileSync(file, bytes)
  return promises(BlockFile(file, { blockSize: 16, ...options }))
}

function promises (blocks) {
  const names = ['ready', 'read', 'readInto', 'readUInt32BE', 'readUInt48BE', 'readUInt53BE', 'append', 'write',
    'writeQuietly', 'truncate', 'sync', 'trim', 'scan', 'close']
  const methods = names.map((name) => [name, promisify(blocks[name].bind(blocks))])
  return { blocks, path: blocks.path, size: blocks.size, ...Object.fromEntries(methods) }
}

const counting = (size) => Buffer.from(Array.from({ length: size }, (_, i) => i % 251))

exports.open = open
exports.promises = promises
exports.counting = counting
