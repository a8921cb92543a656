'use strict'
// Copies the bytes that recovery is about to cut into a file beside the log, so that they can still be looked at.

const { BlockFile } = require('@millrace/block-file')
const { call } = require('@millrace/flow')

const COPY_SIZE = 1024 * 1024

/** @typedef {ReturnType<typeof BlockFile>} BlockFileHandle */

/**
 * @param {BlockFileHandle} blocks  the log's file
 * @param {number} start
 * @param {number} end
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<string>}  the path of the copy, which is on stable storage
 */
async function keepCutBytes (blocks, start, end, storage) {
  const copy = await openUnused(`${blocks.path}.cut-${start}`, storage)
  try {
    for (let at = start; at < end; at += COPY_SIZE) {
      const bytes = Buffer.allocUnsafe(Math.min(COPY_SIZE, end - at))
      await call(blocks, 'readInto', bytes, at)
      await call(copy, 'append', bytes)
    }
    await call(copy, 'sync')
  } catch (err) {
    // Half a copy is of no use; an empty one is used again.
    await call(copy, 'truncate', 0).catch(() => {})
    await call(copy, 'close').catch(() => {})
    throw err
  }
  await call(copy, 'close')
  return copy.path
}

/**
 * A copy from before is never overwritten: the name gets a number until it is new.
 * @param {string} base
 * @param {import('@millrace/block-file').Storage | undefined} storage
 * @returns {Promise<BlockFileHandle>}
 */
async function openUnused (base, storage) {
  for (let attempt = 0; ; attempt++) {
    const copy = BlockFile(attempt === 0 ? base : `${base}-${attempt}`, { storage, cache: 0 })
    await call(copy, 'ready')
    if (copy.size.value === 0) return copy
    await call(copy, 'close').catch(() => {})
  }
}

exports.keepCutBytes = keepCutBytes
