'use strict'
// The one error class and the table of codes: every failure in the house is told by its code, never by its message.

const { LogError, misuse } = require('./lib/log-error')
const { codes } = require('./lib/codes')

exports.LogError = LogError
exports.misuse = misuse
exports.codes = codes
