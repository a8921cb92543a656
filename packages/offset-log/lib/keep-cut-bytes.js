'use strict'
// Copies the bytes that recovery is about to cut into a file beside the log, so that they can still be looked at.

const { BlockFile } = require('@millrace/block-file')

const COPY_SIZE = 1024 * 1024

/** @typedef {ReturnType<typeof BlockFile>} BlockFileHandle */

/**
 * @param {BlockFileHandle} blocks  the log's file
 * @param {number} start
 * @param {number} end
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, keptAt?: string) => void} cb  the copy is on stable storage
 */
function keepCutBytes (blocks, start, end, storage, cb) {
  openUnused(`${blocks.path}.cut-${start}`, 0, storage, (err, copy) => {
    if (err || !copy) return cb(err)
    copyRange(blocks, start, end, copy, (err) => {
      if (!err) return copy.close((err) => cb(err, copy.path))
      // Half a copy is of no use; an empty one is used again.
      copy.truncate(0, () => copy.close(() => cb(err)))
    })
  })
}

/**
 * A copy from before is never overwritten: the name gets a number until it is new.
 * @param {string} base
 * @param {number} attempt
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, copy?: BlockFileHandle) => void} cb
 */
function openUnused (base, attempt, storage, cb) {
  const copy = BlockFile(attempt === 0 ? base : `${base}-${attempt}`, { storage, cache: 0 })
  copy.ready((err) => {
    if (err) return cb(err)
    if (copy.size.value === 0) return cb(null, copy)
    copy.close(() => openUnused(base, attempt + 1, storage, cb))
  })
}

/**
 * @param {BlockFileHandle} blocks
 * @param {number} position
 * @param {number} end
 * @param {BlockFileHandle} copy
 * @param {(err: Error | null) => void} cb
 */
function copyRange (blocks, position, end, copy, cb) {
  if (position === end) return copy.sync(cb)
  const upTo = Math.min(end, position + COPY_SIZE)
  const bytes = Buffer.allocUnsafe(upTo - position)
  blocks.readInto(bytes, position, (err) => {
    if (err) return cb(err)
    copy.append(bytes, (err) => err ? cb(err) : copyRange(blocks, upTo, end, copy, cb))
  })
}

exports.keepCutBytes = keepCutBytes
