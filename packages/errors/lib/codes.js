'use strict'
// Every code that a Millrace error can carry, with what it means. The README has one heading a code; a test compares.
// Failures of the file system keep the codes that Node gives them (ENOENT, EACCES, EISDIR, ENOSPC, ...).

exports.codes = Object.freeze({
  ERR_INVALID_ARGUMENT: 'an argument or an option has the wrong type or is out of its range',
  ERR_NOT_SUPPORTED: 'this log, framing or codec cannot do what was asked',

  ERR_FILE_CLOSED: 'the block file was closed before the call',
  ERR_FILE_READ_ONLY: 'the block file was opened with flags "r" and cannot be written',
  ERR_FILE_RANGE: 'a read or a write reaches past the end of the file',
  ERR_FILE_SHORT_READ: 'the file ended before its known size: something else has truncated it',
  ERR_FILE_NUMBER_TOO_LARGE: 'an integer in the file is above 2^53 - 1 and JavaScript cannot hold it',
  ERR_FILE_MOVED: 'the path of a file that is open for writing leads to another file now, or to none',
  ERR_FILE_NOT_UNDONE: 'a write failed half way and the bytes before it could not be put back',

  ERR_LOG_CLOSED: 'the log was closed before the call',
  ERR_LOG_LOCKED: 'the file is open for writing already, here or in another process; the message says by whom',
  ERR_LOG_READ_ONLY: 'the log was opened with flags "r", or is damaged, and cannot be written',
  ERR_LOG_UNKNOWN_FORMAT: 'the file is not a log that this version can read; nothing was written to it',
  ERR_LOG_AMBIGUOUS_FORMAT: 'the file may be a log of more than one format',
  ERR_LOG_CORRUPT: 'the bytes of the log contradict each other at the offset given',
  ERR_LOG_POISONED: 'a write or a sync failed so that nothing more can be promised; close the log and open it again',
  ERR_LOG_FULL: 'the append would grow the file past what its framing can address',

  ERR_RECORD_UNREPRESENTABLE: 'the framing of this log cannot hold such a record; nothing was written',
  ERR_RECORD_TOO_LARGE: 'a record is larger than maxRecordSize, or a batch larger than one write can be',
  ERR_RECORD_NOT_FOUND: 'no record begins at the seq that was asked for',
  ERR_LOG_SEQ_LOST: 'what the log had at the seq was lost when the power went; build again what depends on it',
  'flumelog:deleted': 'the record was deleted; the code is the one that flumedb looks for',

  ERR_CODEC_MISMATCH: 'the log was made with another codec than the one that was given',
  ERR_CODEC_ENCODE: 'a value could not be encoded; nothing was written',
  ERR_CODEC_DECODE: 'the bytes of a record could not be decoded',
  ABORT_ERR: 'the signal that the call was given was aborted; the code and the name are those of Node.js',
  ERR_SCAN_TASK: 'the task of a scan over threads could not be loaded, threw, or has ended its thread',

  ERR_SOURCE_CHANGED: 'the log that is being converted is not what it was when the conversion began',
  ERR_NOT_VERIFIED: 'what was converted, read again, is not what the source has'
})
