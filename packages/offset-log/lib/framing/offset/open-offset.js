'use strict'
// From an open file to a log of a legacy framing: recover its end, find its last record.

const { LogError } = require('@millrace/errors')
const { ChunkReader } = require('./chunk-reader')
const { OffsetStore } = require('./offset-store')
const { recover } = require('./recover')

/**
 * @typedef {import('../../log-file').LogFile} LogFile
 * @typedef {import('../../log-file').Recovery} Recovery
 */

/**
 * @param {LogFile} file  gets its `end`
 * @param {import('./offset-framing').OffsetFraming} framing
 * @param {(err: Error | null, store?: OffsetStore, recovery?: Recovery | null) => void} cb
 */
function openOffset (file, framing, cb) {
  const store = new OffsetStore(file, framing)
  if (file.blocks.size.value === 0) return cb(null, store, null)
  recover(store, file.storage, (err, recovery = null) => {
    if (err) return cb(err)
    findLastRecord(store, (err, seq = -1) => {
      store.last = seq
      cb(err, store, recovery)
    })
  })
}

/**
 * @param {OffsetStore} store
 * @param {(err: Error | null, seq?: number) => void} cb  the seq of the last record that is not deleted, -1 if none
 */
function findLastRecord (store, cb) {
  const chunks = new ChunkReader(store, { position: store.end, from: 0, stop: Infinity, reverse: true })
  chunks.next(store.end, (err, chunk) => {
    // One that is too large to be looked at is there all the same.
    if (err instanceof LogError && err.code === 'ERR_RECORD_TOO_LARGE') return cb(null, err.offset)
    // Before deleted records there is damage: what the last one is that is not deleted cannot be known.
    if (err instanceof LogError && err.code === 'ERR_LOG_CORRUPT') return readLastSeq(store, cb)
    if (err || !chunk) return cb(err)
    cb(null, chunk.count > 0 ? chunk.seqs[0] : -1)
  })
}

/**
 * @param {OffsetStore} store
 * @param {(err: Error | null, seq?: number) => void} cb  the seq of the last record, deleted or not
 */
function readLastSeq ({ blocks, framing, end }, cb) {
  blocks.readUInt32BE(end - framing.trailerSize, (err, size = 0) => cb(err, end - framing.overhead - size))
}

exports.openOffset = openOffset
