'use strict'
// A reader for a range of seqs, set on the frame where it begins.

const { ChunkReader } = require('./chunk-reader')
const { locateBoundary } = require('./locate')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 */

/**
 * @param {LogFile} file
 * @param {Range} range
 * @param {(err: Error | null, chunks?: ChunkReader) => void} cb
 */
function openRange (file, range, cb) {
  const { from, stop, reverse, where } = range
  let isWanted
  try {
    isWanted = file.codec.compile(where)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  locateBoundary(file, reverse ? stop : from, (err, position = 0) => {
    if (err) cb(err)
    else cb(null, new ChunkReader(file, { position, from, stop, reverse, isWanted }))
  })
}

exports.openRange = openRange
