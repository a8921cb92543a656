'use strict'
// The error of a read that meets bytes which do not match their checksum. It knows the whole range: what lies beside it
// can be read all the same.

const { LogError } = require('@millrace/errors')

/** @typedef {{ start: number, end: number }} Range  positions in the log's file */

/** @type {WeakMap<Error, Range>} */
const ranges = new WeakMap()

/**
 * @param {string} path
 * @param {Range} range
 * @returns {LogError}
 */
function mismatch (path, range) {
  const { start, end } = range
  const error = new LogError('ERR_LOG_CORRUPT', `read: ${path} is damaged somewhere from ${start} to ${end}: these ` +
    'bytes do not match their checksum in the sidecar. Keep a copy of both files, and put the bytes back from a backup. ' +
    'If another program changed them on purpose, remove the sidecar, and it is made anew', { offset: start, path })
  ranges.set(error, range)
  return error
}

/**
 * @param {Error | null} err
 * @returns {Range | null}  what is damaged, if that is what went wrong
 */
function damagedRange (err) {
  return (err && ranges.get(err)) ?? null
}

exports.mismatch = mismatch
exports.damagedRange = damagedRange
