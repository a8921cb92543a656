'use strict'
// Finishes the deletions that a crash cut off, from their journals.

const { ChunkHeader, ERASED_COUNT_OFFSET, checkChunk } = require('./chunk-header')
const { applyEntry, encodeJournal } = require('./journal')
const { CHUNK_HEADER_SIZE, JOURNAL_POSITIONS } = require('./layout')

/**
 * @typedef {import('./checked-store').CheckedStore} CheckedStore
 * @typedef {import('./journal').Entry} Entry
 * @typedef {import('./journal').Journal} Journal
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * The journals may be in the page cache only, after a sync that failed: they are written again, and synced, before they
 * are believed. Afterwards all that they say is on stable storage.
 * @param {CheckedStore} store
 * @param {Journal[]} journals  oldest first
 * @param {Done} cb
 */
function redoErasures (store, journals, cb) {
  if (journals.length === 0) return cb(null)
  const { blocks, rules: { salt } } = store
  const areas = journals.map((journal) => ({
    position: JOURNAL_POSITIONS[journal.round % 2],
    bytes: encodeJournal(journal, salt)
  }))
  writeAll(store, areas, (err) => {
    if (err) return cb(err)
    blocks.sync((err) => {
      if (err) return cb(err)
      applyAll(store, journals.flatMap(({ entries }) => entries), (err) => err ? cb(err) : blocks.sync(cb))
    })
  })
}

/**
 * @param {CheckedStore} store
 * @param {Array<{ position: number, bytes: Buffer }>} areas
 * @param {Done} cb
 */
function writeAll (store, [area, ...others], cb) {
  if (area === undefined) return cb(null)
  store.blocks.writeQuietly(area.bytes, area.position, (err) => err ? cb(err) : writeAll(store, others, cb))
}

/**
 * @param {CheckedStore} store
 * @param {Entry[]} entries
 * @param {Done} cb
 */
function applyAll (store, entries, cb) {
  const { blocks } = store
  const next = (/** @type {number} */ index) => {
    if (index === entries.length) return cb(null)
    const { position, header } = entries[index]
    const chunk = Buffer.allocUnsafe(CHUNK_HEADER_SIZE + header.readUInt16BE(8))
    // A file that ends before is damaged, as the walk over its tail will find.
    if (position + chunk.length > blocks.size.value) return next(index + 1)
    blocks.readInto(chunk, position, (err) => {
      if (err) return cb(err)
      if (!isErased(store, entries[index], chunk)) applyEntry(entries[index], chunk)
      blocks.write(chunk, position, (err) => err ? cb(err) : next(index + 1))
    })
  }
  next(0)
}

/**
 * Whether the chunk is as the entry wants it, or was erased further since.
 * @param {CheckedStore} store
 * @param {Entry} entry
 * @param {Buffer} chunk
 */
function isErased ({ rules }, { position, header }, chunk) {
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.length)
  const now = new ChunkHeader()
  const isWhole = checkChunk(chunk, view, 0, position, chunk.length, { ...rules, verify: true }, now) === null
  return isWhole && now.erasedCount >= header.readUInt16BE(ERASED_COUNT_OFFSET)
}

/**
 * What a log that may not be written keeps in mind instead.
 * @param {CheckedStore} store
 * @param {Journal[]} journals  oldest first
 */
function rememberErasures ({ unfinished }, journals) {
  for (const entry of journals.flatMap(({ entries }) => entries)) {
    unfinished.set(entry.position, [...(unfinished.get(entry.position) ?? []), entry])
  }
}

exports.redoErasures = redoErasures
exports.rememberErasures = rememberErasures
