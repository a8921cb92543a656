'use strict'
// Why no runs are written or found, for who asks for the status. Reads go on: they scan what no run has.

const { LogError } = require('@millrace/errors')

/** By the code of the file system: what is wrong with the folder of the index, and what to do. */
const REASONS = new Map([
  ['ENOTDIR', 'is a file, or a symlink to nothing. Remove it, or give it another name'],
  ['ENOENT', 'was removed with its folder, or moved. Open the log where it is now'],
  ['ENAMETOOLONG', 'has a name that is too long. Give the log a shorter one'],
  ['EACCES', 'may not be read and written by this user. Change its owner or its mode'],
  ['EPERM', 'may not be read and written by this user. Change its owner or its mode'],
  ['EROFS', 'is on a disk that can only be read. Make a copy of the log elsewhere, or open it without the option index'],
  ['ENOSPC', 'is on a disk that is full. Make room'],
  ['EDQUOT', 'is on a disk whose quota is used up. Make room'],
  ['EMFILE', 'cannot be opened: this process has too many open files. Raise the limit'],
  ['ENFILE', 'cannot be opened: the system has too many open files. Raise the limit']
])

/**
 * @param {any} cause
 * @param {string} folder  of the index
 * @returns {Error}
 */
function explainFailure (cause, folder) {
  if (cause instanceof LogError || typeof cause?.code !== 'string') return cause
  // A file, where the folder should be made.
  const code = cause.code === 'EEXIST' ? 'ENOTDIR' : cause.code
  const reason = REASONS.get(code) ?? 'could not be read or written'
  return new LogError(code, `${folder}, the folder of the index, ${reason}. Until then reads scan what the index lacks ` +
    `(${cause.message})`, { cause, path: folder })
}

exports.explainFailure = explainFailure
