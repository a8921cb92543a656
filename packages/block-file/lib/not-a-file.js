'use strict'
// The error of who tries to open a folder, a device or a pipe as a file.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} filePath
 * @param {{ isDirectory: () => boolean }} stat
 * @returns {LogError}
 */
function notAFile (filePath, stat) {
  const found = stat.isDirectory() ? 'a directory' : 'not a regular file'
  const code = stat.isDirectory() ? 'EISDIR' : 'ERR_INVALID_ARGUMENT'
  return new LogError(code, `open: ${filePath} is ${found}; give the path of a file`, { path: filePath })
}

exports.notAFile = notAFile
