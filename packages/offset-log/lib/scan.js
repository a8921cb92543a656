'use strict'
// Many records a call, without copies: what everything that reads a log is made of, offered as it is.

const { asError, misuse } = require('@millrace/errors')
const { trampoline } = require('@millrace/flow')
const { abortError, parseSignal } = require('./errors')
const { openRange } = require('./range')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./record-run').RecordRun} RecordRun
 */

/**
 * @param {LogFile} file
 * @param {import('./range').Range} range
 * @param {unknown} signal  an AbortSignal, or undefined
 * @param {(records: RecordRun) => unknown} onRecords  false ends the scan; the run is good until it returns
 * @param {(err: Error | null, result?: { lost: { count: number, size: number } }) => void} cb  what damage took, where
 *   it is skipped: how many ranges of the file, and their bytes
 */
function scan (file, range, signal, onRecords, cb) {
  if (range.live) return cb(misuse('scan: live is for streams; leave it out'))
  const abort = parseSignal('scan', signal)
  let left = range.limit
  if (left === 0) return cb(null, { lost: { count: 0, size: 0 } })
  openRange(file, range, (err, reader) => {
    if (err || !reader) return cb(err)
    const { end } = file
    /** @type {() => void} */
    let next
    const visit = (/** @type {Error | null} */ err, /** @type {RecordRun | undefined} */ records) => {
      if (err || !records) return cb(err)
      if (records.count === 0) return cb(null, { lost: reader.lost })
      const filterErr = reader.applyFilter(records, file.codec)
      if (filterErr) return cb(filterErr)
      records.count = Math.min(records.count, left)
      left -= records.count
      let goOn
      try {
        goOn = (records.count === 0 || onRecords(records) !== false) && left > 0
      } catch (err) {
        // What is no error, when it is thrown, is a failure all the same.
        return cb(asError(err, 'scan: the function'))
      }
      if (goOn) next()
      else cb(null, { lost: reader.lost })
    }
    trampoline((again) => {
      next = again
      if (abort?.aborted) return cb(abortError('scan', abort))
      reader.next(end, visit)
    })
  })
}

exports.scan = scan
