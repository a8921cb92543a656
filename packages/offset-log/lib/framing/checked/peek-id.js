'use strict'
// Tells which log a file beside this one is of, without opening it as a log.

const { BlockFile } = require('@millrace/block-file')
const { decodeFileHeader } = require('./file-header')
const { HEADER_SIZE } = require('./layout')

/**
 * @param {string} path
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, found?: { id: Buffer | null, isEmpty: boolean }) => void} cb  ENOENT when there is none;
 *   `id` is null when it is no log of the checked framing
 */
function peekId (path, storage, cb) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage })
  blocks.ready((err) => {
    if (err) return blocks.close(() => cb(err))
    const bytes = Buffer.alloc(HEADER_SIZE)
    const { value: size } = blocks.size
    blocks.readInto(bytes.subarray(0, Math.min(size, HEADER_SIZE)), 0, (err) => blocks.close(() => {
      if (err) return cb(err)
      const header = decodeFileHeader(bytes)
      cb(null, { id: header !== null && 'id' in header ? header.id : null, isEmpty: size === 0 })
    }))
  })
}

exports.peekId = peekId
