'use strict'
// The error for bytes that the file does not have.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} what
 * @param {number} start
 * @param {number} end
 * @param {import('./open-file').OpenFile} file
 */
function rangeError (what, start, end, { path, size }) {
  return new LogError('ERR_FILE_RANGE', `${what}: bytes ${start} to ${end} were asked for, but ${path} ` +
    `ends at ${size.value}; stay below its size`, { offset: start, path })
}

exports.rangeError = rangeError
