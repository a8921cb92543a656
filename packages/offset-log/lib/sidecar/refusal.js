'use strict'
// The error of a log that can have no sidecar.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} path
 * @returns {LogError}
 */
function refusal (path) {
  return new LogError('ERR_NOT_SUPPORTED', `open: a sidecar is for framings that have no checksums, and ${path} is, or ` +
    'would be, a checked log; leave the option sidecar out, or give the framing of a new file', { path })
}

exports.refusal = refusal
