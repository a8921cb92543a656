'use strict'
// The one error class and the table of codes: every failure in the house is told by its code, never by its message.

const { LogError, misuse } = require('./lib/log-error')
const { codes } = require('./lib/codes')
const { asError, reasonOf } = require('./lib/reason-of')

/**
 * @typedef {import('./lib/failure').ErrorCode} ErrorCode
 * @typedef {import('./lib/failure').SystemCode} SystemCode
 * @typedef {import('./lib/failure').FailureCode} FailureCode
 * @typedef {import('./lib/failure').Failure} Failure
 * @typedef {import('./lib/log-error').LogErrorDetails} LogErrorDetails
 * @typedef {import('./lib/log-error').Holder} Holder
 */

/**
 * @template Result
 * @typedef {import('./lib/failure').NodeCallback<Result>} NodeCallback
 */

exports.LogError = LogError
exports.misuse = misuse
exports.asError = asError
exports.reasonOf = reasonOf
exports.codes = codes
