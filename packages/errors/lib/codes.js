'use strict'
// Every code of a Millrace error, with its meaning in one sentence. What to do at each code is said in
// scripts/reference/error-advice.js, from which docs/reference/errors.md is written; a test compares the two.
// Failures of the file system keep the codes of Node.js (ENOENT, EACCES, EISDIR, ENOSPC, ...).

exports.codes = Object.freeze({
  ERR_INVALID_ARGUMENT: 'an argument or an option has the wrong type or is out of its range',
  ERR_NOT_SUPPORTED: 'this log, its framing or its storage does not support the call',

  ERR_FILE_CLOSED: 'the block file was closed before the call',
  ERR_FILE_READ_ONLY: 'the block file was opened with flags "r" and cannot be written',
  ERR_FILE_RANGE: 'a read or a write reaches past the end of the file',
  ERR_FILE_SHORT_READ: 'the file ended before its known size: another program has truncated it',
  ERR_FILE_NUMBER_TOO_LARGE: 'an integer in the file is above 2^53 - 1 and JavaScript cannot hold it',
  ERR_FILE_MOVED: 'the path of a file or folder that is open for writing leads to another one now, or to none',
  ERR_FILE_NOT_UNDONE: 'a write failed half way and the bytes before it could not be put back',

  ERR_LOG_CLOSED: 'the log was closed before the call',
  ERR_LOG_LOCKED: 'the file is already open for writing, in this process or another one; the message names the holder',
  ERR_LOG_READ_ONLY: 'the log cannot be written: it was opened with flags "r", or is damaged, or its unsynced end cannot be copied',
  ERR_LOG_UNKNOWN_FORMAT: 'the file is not a log that this version can read, or the folder has another kind of log; no record was written to it',
  ERR_LOG_AMBIGUOUS_FORMAT: 'the file may be a log of more than one format',
  ERR_LOG_CORRUPT: 'the bytes of the log contradict each other at the offset given',
  ERR_LOG_POISONED: 'a write or a sync failed so that nothing more can be promised; close the log and open it again',
  ERR_LOG_NOT_READY: 'the log cannot be flushed without waiting now: it is being opened, or replaced by its compacted copy, or begins a segment',
  ERR_APPEND_CONDITION: 'a record matches the condition of the append; nothing was written, and seq says which record',
  ERR_LOG_OVERLOADED: 'more bytes wait to be appended than maxPendingSize allows; nothing was written',
  ERR_LOG_FULL: 'the append would go past the last position of the framing, or the stream on the server is full',
  ERR_LOG_WAS_DIVERTED: 'a log writer could not use its log for a while; it can now, and says how many records went to standard error',
  ERR_LOG_REPLACED: 'what the log read is another one now: the stream on the server was deleted, made anew or takes other subjects, the text file was cut or replaced, or another copy of the log took the place of its file',
  ERR_LOG_NOT_SYNCED: 'requireSynced was given, and the servers do not sync before they acknowledge, or do not say so',

  ERR_RECORD_UNREPRESENTABLE: 'the framing of this log cannot hold such a record; nothing was written',
  ERR_RECORD_TOO_LARGE: 'a record is larger than maxRecordSize, or a batch larger than one write can be',
  ERR_RECORD_NOT_FOUND: 'no record begins at the seq that was asked for',
  ERR_LOG_SEQ_LOST: 'a power cut took the record at this seq; build views that saw it again',
  ERR_LOG_FOREIGN_SEGMENT: 'a file in the folder of a segmented log is a segment of another log; it was not removed',
  ERR_LOG_SEQ_RETAINED: 'the record at this seq was dropped with its segment, as the limits of the log say; build views that lack it again',
  'flumelog:deleted': 'the record was deleted; the code is the one that flumedb looks for',

  ERR_STREAM_USED: 'the stream was iterated before, and gives its records once',

  ERR_CODEC_MISMATCH: 'the log was made with another codec than the one that was given',
  ERR_CODEC_ENCODE: 'a value could not be encoded; nothing was written',
  ERR_CODEC_DECODE: 'the bytes of a record could not be decoded',
  ABORT_ERR: 'the signal of the call was aborted; the code and the name are those of Node.js',

  ERR_INDEX_BUILDER: 'the builder of an index has failed, or reads another log; the thread that writes the log builds the index now',

  ERR_VIEW_REDUCE: 'the function reduce of a view threw, or returned undefined or a promise; seq says at which record',
  ERR_VIEW_STALE: 'a view must be built again, and its log has dropped the first records',
  ERR_VIEW_CLOSED: 'the view was closed before the call, or before what was waited for',

  ERR_FORWARDER_CLOSED: 'the forwarder was closed before the call, or before what was waited for',
  ERR_SINK_REFUSED: 'the sink refuses the records for good; they are set aside',
  ERR_SINK_TOO_LARGE: 'the batch is larger than the sink takes; it is halved',
  ERR_SINK_UNAVAILABLE: 'the sink cannot take the batch now; it is sent again later',

  ERR_SHIP_SOURCE_CHANGED: 'the source of a shipper is not the log that the target has records of: it was restored from an older copy, or replaced',
  ERR_SHIP_TARGET_TAKEN: 'the target of a shipper has records of another log or of another shipper',
  ERR_SHIP_TARGET_LOST: 'the target of a shipper has lost records, and the shipper may not ship them again',
  ERR_SHIP_TARGET_FAILED: 'the target of a shipper takes nothing more: it is closed, poisoned or read-only',

  ERR_SERVER_UNAVAILABLE: 'no server has answered for the timeout of the log; records of an append may be there, once',
  ERR_SERVER_REFUSED: 'the server refuses this client or its call; the cause says why',

  ERR_SOURCE_CHANGED: 'the log that is being converted has changed since the conversion began',
  ERR_NOT_VERIFIED: 'the converted log, read again, differs from its source'
})
