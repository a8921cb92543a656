'use strict'
// What a sink may answer besides "accepted", and how long to wait before the next try.

const { inspect } = require('node:util')
const { LogError, misuse, reasonOf } = require('@millrace/errors')

// Above this no server means it. It also fits a timer.
const RETRY_AFTER_MS_MAX = 24 * 60 * 60 * 1000

/** @typedef {InstanceType<typeof LogError>} SinkError */

/**
 * Makes the error that a sink throws if it refuses records for good (`ERR_SINK_REFUSED`). The forwarder halves the
 * batch until it knows which records are refused, and sets these aside.
 * @param {string} message
 * @param {{ cause?: unknown }} [details]
 * @returns {SinkError}
 */
function refused (message, details = {}) {
  const { cause } = details
  return new LogError('ERR_SINK_REFUSED', message, { cause })
}

/**
 * Makes the error that a sink throws if a batch is too large for it (`ERR_SINK_TOO_LARGE`). The forwarder halves the
 * batch, and makes smaller ones from then on.
 * @param {string} message
 * @param {{ cause?: unknown }} [details]
 * @returns {SinkError}
 */
function tooLarge (message, details = {}) {
  const { cause } = details
  return new LogError('ERR_SINK_TOO_LARGE', message, { cause })
}

/**
 * Makes the error that a sink throws if it cannot take the batch now (`ERR_SINK_UNAVAILABLE`). The forwarder waits, and
 * sends the same batch again.
 * @param {string} message
 * @param {{ retryAfterMs?: number | undefined, cause?: unknown }} [details]  `retryAfterMs`: the least time to wait, in
 *   ms; more than a day counts as a day
 * @returns {SinkError & { retryAfterMs?: number }}
 */
function unavailable (message, details = {}) {
  const { retryAfterMs, cause } = details
  const err = new LogError('ERR_SINK_UNAVAILABLE', message, { cause })
  return retryAfterMs === undefined ? err : Object.assign(err, { retryAfterMs })
}

/**
 * What a sink threw. Another copy of this package may have made the error, so only the code counts.
 * @type {(thrown: unknown) => { kind: 'refused' | 'too large' | 'failed', error: Error, retryAfterMs: number }}
 */
function classify (thrown) {
  const error = thrown instanceof Error ? thrown : unavailable(`the sink threw ${reasonOf(thrown)}`, { cause: thrown })
  const { code, retryAfterMs } = /** @type {{ code?: string, retryAfterMs?: unknown }} */ (error)
  if (code === 'ERR_SINK_REFUSED') return { kind: 'refused', error, retryAfterMs: 0 }
  if (code === 'ERR_SINK_TOO_LARGE') return { kind: 'too large', error, retryAfterMs: 0 }
  const asked = typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : 0
  return { kind: 'failed', error, retryAfterMs: Math.min(asked, RETRY_AFTER_MS_MAX) }
}

/**
 * Checks what a sink gave. What cannot be meant counts as a failure, or else the cursor would pass records that nobody
 * has.
 * @param {any} given
 * @param {number} count  of the records in the batch
 * @returns {import('./options').Answer}  names no record twice
 */
function parseAnswer (given, count) {
  if (given === null || typeof given !== 'object') return {}
  const { ok, status, refused, refusedCount, begin } = given
  if (ok === false && typeof status === 'number') {
    throw unavailable(`the sink returned an answer of fetch with the status ${status}, which accepts nothing`)
  }
  if (refused !== undefined && !(Array.isArray(refused) && refused.every((one) => isWhole(one?.index, count - 1)))) {
    throw misuse(`sink: refused must be a list of { index, message } with indexes of the batch, got ${show(refused)}`)
  }
  if (refusedCount !== undefined && !isWhole(refusedCount)) {
    throw misuse(`sink: refusedCount must be a whole number, got ${show(refusedCount)}`)
  }
  if (begin !== undefined && !isWhole(begin?.seq + 1)) throw misuse(`sink: begin must have a seq, got ${show(begin)}`)
  if (refused === undefined) return given
  return { ...given, refused: [...new Map(refused.map((/** @type {any} */ one) => [one.index, one])).values()] }
}

/** @type {(value: unknown, most?: number) => boolean} */
function isWhole (value, most = Infinity) {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most
}

/** For a message. @param {unknown} value */
function show (value) {
  return inspect(value, { breakLength: Infinity, maxArrayLength: 3, maxStringLength: 100, depth: 1 })
}

/**
 * How long to wait after the n-th failure in a row: a random time below a limit that doubles ("full jitter").
 * @param {{ minMs: number, maxMs: number }} backoff
 * @param {number} failureCount  from 1
 * @param {number} [retryAfterMs]  the least time
 */
function delayOf ({ minMs, maxMs }, failureCount, retryAfterMs = 0) {
  const limit = Math.min(maxMs, minMs * 2 ** Math.min(failureCount - 1, 52))
  return Math.max(retryAfterMs, Math.random() * limit)
}

exports.refused = refused
exports.tooLarge = tooLarge
exports.unavailable = unavailable
exports.classify = classify
exports.parseAnswer = parseAnswer
exports.delayOf = delayOf
