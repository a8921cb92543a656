'use strict'
// The sidecar of a log that is being opened.

const { fileStorage } = require('@millrace/block-file')
const { Sidecar } = require('./sidecar')

/**
 * @param {string} path  of the log
 * @param {ReturnType<typeof import('../options').parseOptions>} options
 * @returns {Sidecar}
 */
function openSidecar (path, { storage = fileStorage, verify, framing }) {
  return new Sidecar(storage, path, { verify, mayCreate: framing !== 'checked' })
}

exports.openSidecar = openSidecar
