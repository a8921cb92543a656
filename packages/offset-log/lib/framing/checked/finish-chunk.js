'use strict'
// Finishes what a crash left of the deletions in one chunk, from the journals' entries for it. Bytes only, no I/O.

const { ChunkHeader, ERASED_COUNT_OFFSET, checkChunk } = require('./chunk-header')
const { applyEntry } = require('./journal')
const { CHUNK_HEADER_SIZE } = require('./layout')

/**
 * @param {import('./journal').Entry[]} entries  of this chunk, oldest first
 * @param {Buffer} chunk  from its header on; changed in place, where it is not yet as the entries want it. One that was
 *   erased further since stays as it is
 * @param {import('./chunk-header').Rules} rules
 * @returns {boolean}  whether it is whole now; one that is not was damaged otherwise
 */
function finishChunk (entries, chunk, rules) {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const now = new ChunkHeader()
  const { position } = entries[0]
  const strict = { ...rules, verify: true }
  const isWhole = () => checkChunk(chunk, view, 0, position, chunk.length, strict, now) === null
  for (const entry of entries) {
    if (isWhole() && now.erasedCount >= entry.header.readUInt16BE(ERASED_COUNT_OFFSET)) continue
    // The file may end before, where it was cut off.
    if (CHUNK_HEADER_SIZE + entry.header.readUInt16BE(8) > chunk.length) return false
    applyEntry(entry, chunk)
  }
  return isWhole()
}

exports.finishChunk = finishChunk
