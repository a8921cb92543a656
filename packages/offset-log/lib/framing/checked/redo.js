'use strict'
// Finishes the deletions that a crash cut off, from their journals.

const { finishChunk } = require('./finish-chunk')
const { encodeJournal } = require('./journal')
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
  const { blocks, rules: { salt } } = store
  const areas = journals.map((journal) => ({
    position: JOURNAL_POSITIONS[journal.round % 2],
    bytes: encodeJournal(journal, salt)
  }))
  writeAll(store, areas, (err) => {
    if (err) return cb(err)
    blocks.sync((err) => {
      if (err) return cb(err)
      applyAll(store, [...groupByChunk(journals).values()], (err) => err ? cb(err) : blocks.sync(cb))
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
 * @param {Entry[][]} chunks  what becomes of each, oldest first
 * @param {Done} cb
 */
function applyAll (store, [entries, ...others], cb) {
  if (entries === undefined) return cb(null)
  const { blocks } = store
  const { position, header } = entries[0]
  const chunk = Buffer.allocUnsafe(CHUNK_HEADER_SIZE + header.readUInt16BE(8))
  // A file that ends before is damaged, as the walk over its tail will find.
  if (position + chunk.length > blocks.size.value) return applyAll(store, others, cb)
  blocks.readInto(chunk, position, (err) => {
    if (err) return cb(err)
    // So is a chunk that this does not make whole: it is left as it is.
    if (!finishChunk(entries, chunk, store.rules)) return applyAll(store, others, cb)
    blocks.write(chunk, position, (err) => err ? cb(err) : applyAll(store, others, cb))
  })
}

/**
 * What a log that may not be written, or not yet, keeps in mind instead.
 * @param {{ unfinished: Map<number, Entry[]> }} store
 * @param {Journal[]} journals  oldest first
 */
function rememberErasures ({ unfinished }, journals) {
  for (const [position, entries] of groupByChunk(journals)) unfinished.set(position, entries)
}

/**
 * @param {Journal[]} journals  oldest first
 * @returns {Map<number, Entry[]>}
 */
function groupByChunk (journals) {
  /** @type {Map<number, Entry[]>} */
  const chunks = new Map()
  for (const entry of journals.flatMap(({ entries }) => entries)) {
    chunks.set(entry.position, [...(chunks.get(entry.position) ?? []), entry])
  }
  return chunks
}

exports.redoErasures = redoErasures
exports.rememberErasures = rememberErasures
