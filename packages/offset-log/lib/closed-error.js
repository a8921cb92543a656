'use strict'
// The error of every call after close.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} name  of the call
 * @param {string} path
 */
function closedError (name, path) {
  return new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`, { path })
}

exports.closedError = closedError
