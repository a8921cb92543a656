'use strict'
// Between batches: tells how far the conversion is, and finds out whether it should go on.

/**
 * @typedef {import('./options').Progress} Progress
 * @typedef {(err: Error | null) => void} Done
 */

class Reporter {
  /** @param {{ onProgress: (progress: Progress) => void, signal?: AbortSignal }} plan */
  constructor ({ onProgress, signal }) {
    this._onProgress = onProgress
    this._signal = signal
    this._last = ''
  }

  /**
   * @param {Progress['phase']} phase
   * @param {number} records  done in this phase
   * @param {import('./record-reader').RecordReader} source
   * @param {Done} cb
   */
  report (phase, records, source, cb) {
    const progress = { phase, records, bytesDone: source.position, bytesTotal: source.total }
    // The end of a phase is told, but not twice.
    const text = JSON.stringify(progress)
    if (text === this._last) return this.check(cb)
    this._last = text
    try {
      this._onProgress(progress)
    } catch (err) {
      return cb(/** @type {Error} */ (err))
    }
    this.check(cb)
  }

  /** @param {Done} cb  an error once the signal is aborted */
  check (cb) {
    cb(this._signal?.aborted ? abortError(this._signal) : null)
  }
}

/**
 * As Node's own functions fail.
 * @param {AbortSignal} signal
 */
function abortError (signal) {
  const err = new Error('convert: aborted; call it again to go on', { cause: signal.reason })
  err.name = 'AbortError'
  return Object.assign(err, { code: 'ABORT_ERR' })
}

exports.Reporter = Reporter
