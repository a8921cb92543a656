'use strict'
// What a forwarder tells its user: a function gets it, or it becomes warnings of the process.

const { performance } = require('node:perf_hooks')
const { rethrowAsync } = require('@millrace/flow')

/**
 * @typedef {{ what: 'cursor', message: string, from: number | null, to: number }} CursorReport  the forwarder begins
 *   elsewhere than its cursor says: the cursor is damaged, belongs to another log, or names a record that the log does
 *   not have. `from` is null if the cursor says no seq
 * @typedef {{ what: 'retry', message: string, error: Error, attempt: number, delayMs: number }} RetryReport  a try has
 *   failed; the next one is in `delayMs`
 * @typedef {{ what: 'recovered', message: string, attempts: number, downMs: number }} RecoveredReport  the sink accepts
 *   again
 * @typedef {{ what: 'refused', message: string, seq: number, error: Error | null, count: number }} RefusedReport
 *   a record was set aside. `seq` is the first record that may be one of the `count` refused ones
 * @typedef {{ what: 'skipped', message: string, from: number, to: number, records: number | null }} SkippedReport  the
 *   log no longer has what came next, because of its limits or of damage. The records between the seqs `from` and `to`
 *   were not forwarded: `records` says how many, or is null if nobody has counted them; then there may have been none.
 *   If nothing was forwarded before, `from` is just below where the log began when the cursor was made, or -1. If the
 *   log is damaged at its end, `to` is `from`: nobody knows yet where it goes on
 * @typedef {{ what: 'target', message: string, from: number, to: number }} TargetReport  the sink no longer has what it
 *   accepted, as a target of `ship` that was reset: the forwarder goes on after the seq `to`
 * @typedef {{ what: 'stopped', message: string, error: Error }} StoppedReport  a shipper has stopped, because nothing
 *   that it could do would help. Or the log was closed before everything was sent, and no log writer opens it again
 * @typedef {CursorReport | RetryReport | RecoveredReport | RefusedReport | SkippedReport | TargetReport |
 *   StoppedReport} Report
 */

// Somebody who looks at the refused records needs no warning for each.
const REFUSED_WARNING_MS = 10_000

class Reporter {
  /** When the last warning about a refused record was given. */
  #refusedMs = -Infinity
  #label
  #onReport

  /**
   * @param {string} label  names the forwarder in warnings
   * @param {((report: Report) => void) | null} onReport
   */
  constructor (label, onReport) {
    this.#label = label
    this.#onReport = onReport
  }

  /** @param {Report} report */
  tell (report) {
    const onReport = this.#onReport
    if (onReport !== null) return rethrowAsync(() => onReport(report))
    if (report.what === 'recovered' || (report.what === 'retry' && report.attempt > 1)) return
    if (report.what === 'refused') {
      const now = performance.now()
      if (now - this.#refusedMs < REFUSED_WARNING_MS) return
      this.#refusedMs = now
    }
    const code = 'error' in report ? /** @type {any} */ (report.error)?.code : undefined
    process.emitWarning(`${this.#label}: ${report.message}`, { type: 'ForwarderWarning', ...(typeof code === 'string' && { code }) })
  }
}

/** @param {number} seq  of the last record that is done with */
function describeNext (seq) {
  return seq === -1 ? 'the first record' : `the record after ${seq}`
}

exports.Reporter = Reporter
exports.describeNext = describeNext
