'use strict'
// Delivers the records of a range in runs: many per call, undecoded and not copied. Between two of its loads the span
// reader of block-file yields to the event loop.

const { types: { isPromise } } = require('node:util')
const { asError, misuse } = require('@millrace/errors')
const { abortError, toCallback, trampoline } = require('@millrace/flow')
const { openRange } = require('./range')

/**
 * @typedef {import('./load').LogFile} LogFile
 * @typedef {import('./record-run').RecordRun} RecordRun
 */

/**
 * @param {LogFile} file
 * @param {import('./range').Range} range
 * @param {(records: RecordRun) => unknown} onRecords  false ends the scan. A promise is awaited, and stands for its
 *   result. The run is valid until then
 * @param {(err: Error | null, result?: { lost: import('./contract').Lost }) => void} cb
 * @param {import('./load').OpenRange} [open]
 */
function scan (file, range, onRecords, cb, open = file.openRange ?? openRange) {
  if (range.live) return cb(misuse('scan: live is for streams; leave it out'))
  let left = range.limit
  if (left === 0) return cb(null, { lost: { count: 0, size: 0 } })
  open(file, range, (err, reader) => {
    if (err || !reader) return cb(err)
    const onRun = (/** @type {RecordRun} */ records) => {
      records.count = Math.min(records.count, left)
      left -= records.count
      const goesOn = (/** @type {unknown} */ answer) => answer !== false && left > 0
      try {
        const answer = records.count === 0 || onRecords(records)
        return isPromise(answer) ? answer.then(goesOn, fail) : goesOn(answer)
      } catch (err) {
        return fail(err)
      }
    }
    eachRun(reader, { end: file.logEnd, codec: file.codec, signal: range.signal, onRun }, (err) => {
      reader.release?.()
      if (err) cb(err)
      else cb(null, { lost: reader.lost })
    })
  })
}

/**
 * The user may throw a value that is no Error. It is a failure too.
 * @param {unknown} err
 * @returns {never}
 */
function fail (err) {
  throw asError(err, 'scan: the function')
}

/**
 * @param {import('./load').Reader} reader
 * @param {object} wanted
 * @param {number} wanted.end  the end of the log
 * @param {import('./codec').RecordCodec} wanted.codec
 * @param {AbortSignal | null} wanted.signal
 * @param {(records: RecordRun) => boolean | Promise<boolean>} wanted.onRun  gets the records that match the filter,
 *   perhaps none; false ends the scan
 * @param {(err: Error | null, hasEnded?: boolean) => void} cb  `hasEnded`: whether `onRun` ended the scan
 */
function eachRun (reader, { end, codec, signal, onRun }, cb) {
  /** @type {() => void} */
  let next
  const visit = (/** @type {Error | null} */ err, /** @type {RecordRun | undefined} */ records) => {
    if (signal?.aborted) return cb(abortError('scan', signal))
    if (err || !records) return cb(err)
    if (records.count === 0) return cb(null, false)
    const filterErr = reader.applyFilter(records, codec)
    if (filterErr) return cb(filterErr)
    let goesOn
    try {
      goesOn = onRun(records)
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    if (typeof goesOn === 'object') toCallback(goesOn, (err, goesOn) => err ? cb(err) : goOn(goesOn))
    else goOn(goesOn)
  }
  const goOn = (/** @type {boolean} */ goesOn) => {
    if (goesOn) next()
    else cb(null, true)
  }
  trampoline((again) => {
    next = again
    if (signal?.aborted) return cb(abortError('scan', signal))
    reader.next(end, visit)
  })
}

exports.scan = scan
