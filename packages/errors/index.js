'use strict'
// The one error class and the table of codes. Code that handles failures branches on codes, never on messages.

const { codes } = require('./lib/codes')
const {
  LogError, TIMER_MS_MAX, asError, checkOptions, countEdits, misuse, parseNumber, reasonOf, timerMs
} = require('./lib/log-error')

/**
 * @typedef {import('./lib/log-error').ErrorCode} ErrorCode
 * @typedef {import('./lib/log-error').SystemCode} SystemCode
 * @typedef {import('./lib/log-error').FailureCode} FailureCode
 * @typedef {import('./lib/log-error').Failure} Failure
 * @typedef {import('./lib/log-error').LogErrorDetails} LogErrorDetails
 * @typedef {import('./lib/log-error').Holder} Holder
 */

/** @template Result @typedef {import('./lib/log-error').NodeCallback<Result>} NodeCallback */

exports.LogError = LogError
exports.misuse = misuse
exports.checkOptions = checkOptions
exports.countEdits = countEdits
exports.parseNumber = parseNumber
exports.TIMER_MS_MAX = TIMER_MS_MAX
exports.timerMs = timerMs
exports.asError = asError
exports.reasonOf = reasonOf
exports.codes = codes
