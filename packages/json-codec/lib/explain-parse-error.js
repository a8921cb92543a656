'use strict'
// From what JSON.parse threw to a LogError that says at which byte.

const { isUtf8 } = require('node:buffer')
const { LogError, reasonOf } = require('@millrace/errors')

/**
 * The engine tells a position in UTF-16 units, and in some messages only. It is a byte offset where all before it is
 * ASCII, and can be turned into one where it is UTF-8; after invalid bytes nothing can be said.
 * @param {Buffer} bytes  that were parsed
 * @param {unknown} cause
 * @returns {LogError}
 */
function explainParseError (bytes, cause) {
  const reason = reasonOf(cause)
  const offset = findOffset(bytes, reason)
  const where = offset === undefined ? '' : ` (at byte ${offset} of ${bytes.length})`
  return new LogError('ERR_CODEC_DECODE', `the record is no JSON text${where}: ${reason}`, { cause, offset })
}

/**
 * @param {Buffer} bytes
 * @param {string} reason
 * @returns {number | undefined}
 */
function findOffset (bytes, reason) {
  if (/^Unexpected end /.test(reason)) return bytes.length
  const position = / at position (\d+)/.exec(reason)
  if (position === null || !isUtf8(bytes)) return undefined
  return Buffer.byteLength(bytes.toString().slice(0, Number(position[1])))
}

exports.explainParseError = explainParseError
