'use strict'
// From an open block file to a log that can be read and appended to: detect the framing, recover the end, find since.

const { setIsolated } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { ChunkReader } = require('./chunk-reader')
const { detectFraming } = require('./framing/detect')
const { recover } = require('./recover')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./recover').Recovery} Recovery
 */

/**
 * @param {LogFile} file  gets its `framing` (an empty file keeps the one it has), `end` and `since`
 * @param {import('@millrace/block-file/lib/storage').Storage | undefined} storage
 * @param {(err: Error | null, recovery?: Recovery | null) => void} cb
 */
function load (file, storage, cb) {
  file.blocks.ready((err) => {
    if (err) return cb(err)
    if (file.blocks.size.value === 0) {
      setIsolated(file.since, -1)
      return cb(null, null)
    }
    detectFraming(file.blocks, (err, framing) => {
      if (err || !framing) return cb(err)
      file.framing = framing
      recover(file, storage, (err, recovery) => {
        if (err) return cb(err)
        findLastRecord(file, (err, seq = -1) => {
          if (err) return cb(err)
          setIsolated(file.since, seq)
          cb(null, recovery)
        })
      })
    })
  })
}

/**
 * @param {LogFile} file
 * @param {(err: Error | null, seq?: number) => void} cb  the seq of the last record that is not deleted, -1 if none
 */
function findLastRecord (file, cb) {
  const chunks = new ChunkReader(file, { position: file.end, from: 0, stop: Infinity, reverse: true })
  chunks.next(file.end, (err, chunk) => {
    // One that is too large to be looked at is there all the same.
    if (err instanceof LogError && err.code === 'ERR_RECORD_TOO_LARGE') return cb(null, err.offset)
    // Before deleted records there is damage: what the last one is that is not deleted cannot be known.
    if (err instanceof LogError && err.code === 'ERR_LOG_CORRUPT') return readLastSeq(file, cb)
    if (err || !chunk) return cb(err)
    cb(null, chunk.count > 0 ? chunk.seqs[0] : -1)
  })
}

/**
 * @param {LogFile} file
 * @param {(err: Error | null, seq?: number) => void} cb  the seq of the last record, deleted or not
 */
function readLastSeq ({ blocks, framing, end }, cb) {
  blocks.readUInt32BE(end - framing.trailerSize, (err, size = 0) => cb(err, end - framing.overhead - size))
}

exports.load = load
