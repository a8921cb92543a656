'use strict'
// The errors that several parts of a log create.

const { LogError, misuse, reasonOf } = require('@millrace/errors')

/**
 * @typedef {'get' | 'del'} Call  the method that was given the seq
 * @type {(call: Call, path: string, seq: any) => LogError}
 */
function notFound (call, path, seq) {
  return new LogError('ERR_RECORD_NOT_FOUND', `${call}: no record of ${path} begins at ${reasonOf(seq)}; use a seq that append returned ` +
    'or a stream delivered', { offset: seq, path })
}

/** @type {(path: string, seq: number, end: number, position: number) => LogError} */
function seqLost (path, seq, end, position) {
  return new LogError('ERR_LOG_SEQ_LOST', `the record that ${path} had at ${seq} was lost in a power cut, with all that had seqs ` +
    `from ${end} to ${position}. Rebuild views and indexes that saw them, from the first record on`,
  { offset: seq, path })
}

/** @type {(seq: number) => LogError} */
function deleted (seq) {
  return new LogError('flumelog:deleted', `get: the record at ${seq} was deleted`, { offset: seq })
}

/** @type {(what: string, size: number, sizeMax: number) => LogError} */
function tooLargeToAppend (what, size, sizeMax) {
  return new LogError('ERR_RECORD_TOO_LARGE', `append: ${what} of ${size} bytes is above the limit, ${sizeMax}; ` +
    'nothing was written. Split it into smaller ones')
}

/** Both sizes are in bytes. @type {(path: string, size: number, sizeMax: number) => LogError} */
function overloaded (path, size, sizeMax) {
  return new LogError('ERR_LOG_OVERLOADED', `append: ${size} bytes wait to be appended to ${path}, and maxPendingSize is ` +
    `${sizeMax}; nothing was written. Await drained(), or what append returns, before you append more`, { path })
}

/** @param {string} path */
function transferred (path) {
  return misuse(`append: the memory of a record was transferred before its append to ${path} had called back. Nothing was ` +
    'written of it, or of what was appended beside it. Transfer a copy, or wait')
}

/**
 * @param {unknown} thrown  while a batch was read: its array may have a getter
 * @returns {Error}
 */
function unreadable (thrown) {
  if (thrown instanceof Error) return thrown
  return new LogError('ERR_CODEC_ENCODE', `append: reading the array of values threw a value of type ${typeof thrown}; give an ` +
    'array of plain values', { cause: thrown, path: [] })
}

/** Adds the index of the value in its batch. @type {(err: unknown, index: number) => unknown} */
function ofBatch (err, index) {
  if (!(err instanceof LogError)) return err
  const { code, message, cause, offset, path } = err
  return new LogError(code, `append: value ${index} of the batch: ${message.replace(/^append: /, '')}`,
    { cause, offset, path, index })
}

/** Whether a read met the end of the file too early. @param {Error | null} err */
function isShortRead (err) {
  return err instanceof LogError && ['ERR_FILE_SHORT_READ', 'ERR_FILE_RANGE'].includes(err.code)
}

/**
 * Files of an index could not be removed.
 * @type {(done: string, folder: string, cause: any) => LogError} `done`: what was done
 */
function notRemoved (done, folder, cause) {
  return new LogError(cause.code ?? 'EIO', `${done}, but a file of the index in ${folder} could not be removed (${cause.message}). ` +
    'It may be of records that are deleted. Remove the folder yourself', { cause, path: folder })
}

/** @type {(name: string, path: string) => LogError} */
function closedError (name, path) {
  return new LogError('ERR_LOG_CLOSED', `${name}: ${path} is closed; open it again first`, { path })
}

/** @type {(path: string, why: string, name?: string) => LogError} */
function notReady (path, why, name = 'flushSync') {
  const instead = name === 'appendSync' ? 'append()' : 'sync()'
  return new LogError('ERR_LOG_NOT_READY', `${name}: ${path} ${why}, and that takes waiting; await ${instead} instead`, { path })
}

/** Of a text file that only is read. @type {(path: string, what: string) => LogError} */
function replacedError (path, what) {
  const message = `${path} ${what}. Open it again to read the file that is there now, from its beginning`
  return new LogError('ERR_LOG_REPLACED', message, { path })
}

/** @type {(err: NodeJS.ErrnoException, path: string) => Error} */
function explainFolder (err, path) {
  if (err.code !== 'EISDIR') return err
  return new LogError('EISDIR', `open: ${path} is a folder, and this log is one file. Give the path of a file, or open a ` +
    'folder of segments with SegmentedLog of @millrace/segmented-log', { cause: err, path })
}

exports.notFound = notFound
exports.notReady = notReady
exports.notRemoved = notRemoved
exports.ofBatch = ofBatch
exports.unreadable = unreadable
exports.seqLost = seqLost
exports.deleted = deleted
exports.tooLargeToAppend = tooLargeToAppend
exports.overloaded = overloaded
exports.transferred = transferred
exports.isShortRead = isShortRead
exports.closedError = closedError
exports.replacedError = replacedError
exports.explainFolder = explainFolder
