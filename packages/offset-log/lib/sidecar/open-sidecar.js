'use strict'
// The sidecar of a log that is being opened, when its options ask for one.

const { fileStorage } = require('@millrace/block-file')
const { Sidecar } = require('./sidecar')

/**
 * @param {string} path  of the log
 * @param {ReturnType<typeof import('../options').parseOptions>} options
 * @returns {Sidecar | null}
 */
function openSidecar (path, { sidecar, storage = fileStorage, verify, framing }) {
  return sidecar ? new Sidecar(storage, path, { verify, mayCreate: framing !== 'checked' }) : null
}

exports.openSidecar = openSidecar
