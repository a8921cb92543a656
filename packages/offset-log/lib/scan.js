'use strict'
// Many records a call, without copies: what everything that reads a log is made of, offered as it is.

const { asError, misuse } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { abortError, parseSignal } = require('./abort')
const { applyFilter } = require('./apply-filter')
const { openRange } = require('./open-range')

/**
 * @typedef {import('./log-file').LogFile} LogFile
 * @typedef {import('./chunk').Chunk} Chunk
 */

/**
 * @param {LogFile} file
 * @param {import('./range').Range} range
 * @param {unknown} signal  an AbortSignal, or undefined
 * @param {(chunk: Chunk) => unknown} onChunk  false ends the scan; the chunk is good until it returns
 * @param {(err: Error | null, result?: { lost: { count: number, size: number } }) => void} cb  what damage took, where
 *   it is skipped: how many ranges of the file, and their bytes
 */
function scan (file, range, signal, onChunk, cb) {
  if (range.live) return cb(misuse('scan: live is for streams; leave it out'))
  const abort = parseSignal('scan', signal)
  let left = range.limit
  if (left === 0) return cb(null, { lost: { count: 0, size: 0 } })
  openRange(file, range, (err, chunks) => {
    if (err || !chunks) return cb(err)
    const { end } = file
    /** @type {() => void} */
    let next
    const visit = (/** @type {Error | null} */ err, /** @type {Chunk | undefined} */ chunk) => {
      if (err || !chunk) return cb(err)
      if (chunk.count === 0) return cb(null, { lost: chunks.lost })
      const filterErr = applyFilter(chunks, file.codec)
      if (filterErr) return cb(filterErr)
      chunk.count = Math.min(chunk.count, left)
      left -= chunk.count
      let goOn
      try {
        goOn = (chunk.count === 0 || onChunk(chunk) !== false) && left > 0
      } catch (err) {
        // What is no error, when it is thrown, is a failure all the same.
        return cb(asError(err, 'scan: the function'))
      }
      if (goOn) next()
      else cb(null, { lost: chunks.lost })
    }
    trampoline((again) => {
      next = again
      if (abort?.aborted) return cb(abortError('scan', abort))
      chunks.next(end, visit)
    })
  })
}

exports.scan = scan
