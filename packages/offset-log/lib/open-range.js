'use strict'
// A reader for a range of seqs, set on the frame where it begins.

const { LogError } = require('@millrace/errors')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./range').Range} Range
 * @typedef {import('./framing/offset/chunk-reader').ChunkReader} ChunkReader
 * @typedef {import('./framing/checked/forward-reader').ForwardReader} ForwardReader
 * @typedef {import('./framing/checked/backward-reader').BackwardReader} BackwardReader
 * @typedef {ChunkReader | ForwardReader | BackwardReader} Reader  goes through a range, a chunk of records at a time
 */

/**
 * @param {LogFile} file
 * @param {Range} range
 * @param {(err: Error | null, reader?: Reader) => void} cb
 */
function openRange (file, range, cb) {
  const { store, codec } = file
  const skipsDamage = range.skipsDamage ?? file.skipsDamage
  if (skipsDamage && !store.supports.onCorrupt) {
    return cb(new LogError('ERR_NOT_SUPPORTED', `onCorrupt: ${store.name} does not say where the next record begins; ` +
      'leave it out'))
  }
  let isWanted
  try {
    isWanted = codec.compile(range.where)
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  store.openReader({ ...range, skipsDamage }, isWanted, cb)
}

exports.openRange = openRange
