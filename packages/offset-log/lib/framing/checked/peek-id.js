'use strict'
// Tells which log a file beside this one is of, without opening it as a log.

const { BlockFile } = require('@millrace/block-file')
const { decodeFileHeader } = require('./head')
const { AREA_SIZE, HEADER_POSITIONS, HEADER_SIZE } = require('./layout')

const PEEK_SIZE = HEADER_POSITIONS[HEADER_POSITIONS.length - 1] + AREA_SIZE

/**
 * @param {string} path
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, found?: { id: Buffer | null, isEmpty: boolean }) => void} cb  ENOENT when there is none;
 *   `id` is null when it is no log of the checked framing. It is empty too if a power cut has left zeros of its headers
 */
function peekId (path, storage, cb) {
  const blocks = BlockFile(path, { flags: 'r', cache: 0, storage })
  blocks.ready((err) => {
    if (err) return blocks.close(() => cb(err))
    const bytes = Buffer.alloc(PEEK_SIZE)
    blocks.readInto(bytes.subarray(0, Math.min(blocks.size.value, PEEK_SIZE)), 0, (err) => blocks.close(() => {
      if (err) return cb(err)
      const areas = HEADER_POSITIONS.map((position) => bytes.subarray(position, position + AREA_SIZE))
      const ids = areas.map((area) => idOf(area.subarray(0, HEADER_SIZE)))
      const isEmpty = areas.every((area) => area.every((byte) => byte === 0))
      cb(null, { id: ids.find((id) => id !== null) ?? null, isEmpty })
    }))
  })
}

/** @param {Buffer} bytes  of a header */
function idOf (bytes) {
  const header = decodeFileHeader(bytes)
  return header !== null && 'id' in header ? header.id : null
}

exports.peekId = peekId
