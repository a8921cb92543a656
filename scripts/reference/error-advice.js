'use strict'
// What each error code means, and what to do: the text of docs/reference/errors.md, in the order of how urgent the
// codes are. No program loads it. Links are paths from the root of the repository.

/**
 * @typedef {object} Advice
 * @property {string} means
 * @property {string} todo
 *
 * @typedef {object} Group
 * @property {string} title
 * @property {string} text
 * @property {Record<string, Advice>} codes
 */

/** @type {Group[]} */
exports.groups = [
  {
    title: 'The disk, or something on it',
    text: 'Stop, and look at the machine. Do not overwrite anything that can still be read: first copy the file and all files beside it.',
    codes: {
      ERR_LOG_POISONED: {
        means: 'A sync failed; or an append failed and its bytes could not be removed; or a deletion failed while it ' +
          'overwrote a record. So it is uncertain what the disk has. Every pending and later append, deletion and sync ' +
          'fails with this code, and `cause` is the first failure. Records can still be read.',
        todo: 'Close the log. Look at `cause` and at the messages of the kernel (`dmesg`): a failing disk, a full one, a ' +
          'file that was moved. When the cause is fixed, open the log: opening recovers it. Records whose append failed ' +
          'may be in the log or not, so compare before you append them again.'
      },
      ERR_LOG_CORRUPT: {
        means: 'The bytes of the log contradict each other at `offset`. Records before the offset can still be read. In ' +
          'the checked framing, `onCorrupt: \'skip\'` also reads records after it.',
        todo: 'Copy the file before you do anything else. Run [`verify`](packages/repair/README.md), then `repair` as a dry ' +
          'run, and compare what would be lost with your backups. Move the log to another disk. To keep a service running ' +
          'meanwhile, read with `onCorrupt: \'skip\'`.'
      },
      ERR_LOG_READ_ONLY: {
        means: 'The log cannot be written, for one of three reasons: it was opened with flags `"r"`; it is damaged ' +
          '(`cause` is ERR_LOG_CORRUPT); or a crash left an unsynced end, and opening could not copy it to `<path>.tail` ' +
          'to make it durable (`cause` is another error, such as `ENOSPC`).',
        todo: 'Without a `cause`, the program opened the log with `flags: \'r\'` and should not write. If `cause` is ' +
          'ERR_LOG_CORRUPT, do what is said there: opening never removes bytes from a damaged log, and ' +
          '[`repair`](packages/repair/README.md) makes a new log of the good records. Otherwise remove the cause, for ' +
          'example make room, and open the log again.'
      },
      ERR_FILE_NOT_UNDONE: {
        means: 'A write failed half way, and the bytes that were there before could not be put back. `cause` is the reason ' +
          'of the first failure.',
        todo: 'A log reports it as the cause of ERR_LOG_POISONED: do what is said there.'
      },
      ERR_FILE_SHORT_READ: {
        means: 'The file ended before its known size, so another program has truncated it.',
        todo: 'Find what truncated the file, and stop it: `copytruncate` of logrotate, a restore over an open file, a ' +
          'script. Then restore the backup, or open the log and read what is left.'
      },
      ERR_FILE_MOVED: {
        means: 'The path of a file or a folder that is open for writing leads to another one now, or to none: it, or a ' +
          'folder above it, was renamed, removed or replaced. A file with a lock is checked at each sync, and the sync ' +
          'fails, because no path would lead to the bytes. A folder is also checked before a file in it is made, renamed ' +
          'or removed. Nothing is changed in the folder that has the path now. A reader of segments gets it too, instead ' +
          'of records of another log.',
        todo: 'If the file is still there under another name, stop the program, move the file back, and start again. What ' +
          'was appended after the move is in the moved file. The same holds for the folder of a segmented log. A deployment ' +
          'that switches a link such as `current`, or a restore, must stop the writer first, or give it a path without the ' +
          'link. A reader in a container gets this if only the file is mounted and was replaced outside, as a compaction ' +
          'does: mount the folder instead.'
      },
      ERR_LOG_FOREIGN_SEGMENT: {
        means: 'The limits of a segmented log, or `dropBefore`, would remove a file that has the name of a segment, but its ' +
          'first bytes have the id of another log. The file stays, and the message names it.',
        todo: 'A restore or a copy went into the wrong folder. Move the file to where it belongs. Until then the limits drop ' +
          'only the segments of this log.'
      },
      ERR_LOG_SEQ_LOST: {
        means: 'A power cut removed the record at this seq. A reader that remembers the seq has seen records that no longer ' +
          'exist. The log continues with seqs that were never given before.',
        todo: 'Rebuild the view, the index or the cursor that asked, from the first record on. With `fsync: \'always\'` this ' +
          'cannot happen to readers in the process that writes.'
      },
      ERR_LOG_SEQ_RETAINED: {
        means: 'The segment with the record at this seq was dropped, as the limits of the log say. A reader that resumes ' +
          'there would miss records.',
        todo: 'Rebuild the view from the first record that is kept (`gt: -1`). To keep records until a reader has seen them, ' +
          'use `log.hold`, or raise the limits. If the reader may miss records, read with `onRetained: \'skip\'`.'
      },
      ERR_NOT_VERIFIED: {
        means: 'A converted log differs from its source. Either a program wrote to one of the two files during the ' +
          'conversion, or a disk fails.',
        todo: 'Find out which. Then convert again with `resume: false`.'
      }
    }
  },
  {
    title: 'Another program, a server or a limit',
    text: 'The log is sound. Something else is in the way.',
    codes: {
      ERR_LOG_LOCKED: {
        means: 'The log is already open for writing, in this process or in another one. `holder` has the host, the pid, the ' +
          'thread and the time, and so has the message. If the kernel holds the lock, it ends with the process of the holder.',
        todo: 'If the holder is a second copy of your program, stop one of them. If it is the old copy of a rolling update, ' +
          'use `lockTimeout`. [Sharing a log](docs/guides/sharing.md) says who may open one. Remove a lock file only if the ' +
          'message names it, and only when you are sure that its holder is gone.'
      },
      ERR_SOURCE_CHANGED: {
        means: 'The log that is being converted has changed since the conversion began.',
        todo: 'Stop the program that writes it. Then convert again with `resume: false`.'
      },
      ERR_LOG_UNKNOWN_FORMAT: {
        means: 'The file is not a log that this version can read, or a folder has the other kind of log: segments, or the ' +
          'slots of several processes. No record was written to it.',
        todo: 'Check the path: another program wrote the file, or a newer version did. If the file is a few bytes long and ' +
          'a crash came before, its first record was being written: move it away. If it is a folder, the message says how ' +
          'to move its segments into a slot, so that readers of the slots find them.'
      },
      ERR_LOG_AMBIGUOUS_FORMAT: {
        means: 'The file may be a log of more than one format. The message names them.',
        todo: 'Choose one with the option `format`.'
      },
      ERR_CODEC_MISMATCH: {
        means: 'The log was made with another codec. The message names both. Nothing was changed. Without a codec you can ' +
          'read the bytes of any log, but not append.',
        todo: 'Open the log with the codec that it was made with, or convert it with ' +
          '[@millrace/migrate](packages/migrate/README.md).'
      },
      ERR_LOG_NOT_READY: {
        means: '`flushSync` was called while the log was being opened, or while a compaction was replacing its file. Nothing ' +
          'was written by this call, and the appends still wait. A segmented log refuses `appendSync` and `flushSync` too ' +
          'if they would exceed `maxSize` before the next segment is made.',
        todo: 'Await `log.ready()` before the first `flushSync`. If you can wait, await `log.sync()` instead. On a segmented ' +
          'log, await `append`, or raise `maxSize`.'
      },
      ERR_APPEND_CONDITION: {
        means: 'The append had a condition (`if`), and the record at `seq`, which is after `since`, matches it. Nothing was ' +
          'written. The record can be read.',
        todo: 'Read the records after your `since`, up to `seq` at least, decide again, and append with the newer `since`. ' +
          'Repeated refusals mean that several writers contend for the same key.'
      },
      ERR_LOG_OVERLOADED: {
        means: '`maxPendingSize` bytes or more wait to be appended, so this append was refused. Nothing of it was written.',
        todo: 'The program appends faster than the disk writes, and does not wait. Await each append, or `log.drained()` ' +
          'before the next one. A server can answer that it is busy. Raise `maxPendingSize` only if bursts are short and ' +
          'memory is there.'
      },
      ERR_LOG_FULL: {
        means: 'The append would go past the largest position of the framing: 4 GiB in `offset32`, 256 TiB in `offset48` and ' +
          'in the checked framing, 8 PiB in `offset53`. A checked log skips 4 GiB of positions after an unclean end, so it ' +
          'is also full after 65,000 unclean ends. On JetStream: the stream or its server has reached a limit.',
        todo: 'Copy the records into a new log with `convert` of [@millrace/migrate](packages/migrate/README.md); their seqs ' +
          'change. On JetStream, raise the limit of the stream or of the server, or delete records.'
      },
      ERR_LOG_WAS_DIVERTED: {
        means: 'A log writer, or a destination for pino, could not use its log for a while. It can now. The message says how ' +
          'many records went to standard error meanwhile, and so does a gap record in the log. `cause` is the reason.',
        todo: 'Look for the records of that time where standard error is collected, and remove the cause.'
      },
      ERR_SINK_UNAVAILABLE: {
        means: 'The sink of a forwarder cannot take a batch now. The forwarder sends it again later. `cause` is the error, if ' +
          'there is one.',
        todo: 'Nothing is lost as long as the log keeps the records: watch `lag`, and the free space of the disk. If it ' +
          'lasts, look at the address and the credentials: a server that answers 401 or 404 counts as unavailable, too.'
      },
      ERR_SINK_REFUSED: {
        means: 'The sink of a forwarder refuses records, and will always refuse them. The forwarder sets them aside, and goes ' +
          'on. The message has the reason of the sink.',
        todo: 'Read the refused records in the log `<path>.refused`, fix the cause, and forward that log.'
      },
      ERR_SINK_TOO_LARGE: {
        means: 'A batch is larger than the sink takes. The forwarder halves it. A single record that is too large is set ' +
          'aside, in the log `<path>.refused`.',
        todo: 'If this happens often, lower `batch.size`.'
      },
      ERR_SHIP_TARGET_LOST: {
        means: 'The target of a shipper was reset, purged, or restored from an older copy, and the shipper was made with ' +
          '`refill: false`.',
        todo: 'Find out what happened to the target. Then let a shipper with `refill: true` ship again what is missing.'
      },
      ERR_SHIP_TARGET_TAKEN: {
        means: 'The target of a shipper has records that this shipper did not write: of another log, of another shipper of ' +
          'the same log, or of another program. Nothing was written between them.',
        todo: 'Give each log a target of its own, and run one shipper for it. If foreign records are there already, ' +
          '`verifyShipped` lists them; ship into a new target.'
      },
      ERR_SHIP_SOURCE_CHANGED: {
        means: 'The source of a shipper is not the log whose records the target has: the record at a seq that was shipped is ' +
          'another one, or missing. The source was restored from an older copy, or another file is in its place. Nothing ' +
          'was shipped.',
        todo: 'Keep the old target: it has records that the log lost. Ship the log into a new one.'
      },
      ERR_SHIP_TARGET_FAILED: {
        means: 'The target of a shipper takes nothing more: it cannot be opened, or is closed, poisoned, read-only or full. ' +
          '`cause` is its error.',
        todo: 'Do what this page says for that code, open the target again, and make a new shipper. It goes on where this one ' +
          'ended.'
      },
      ERR_SERVER_UNAVAILABLE: {
        means: 'No server of a log on JetStream has answered for the `timeout` of the log, or the cluster has no leader. If an ' +
          'append failed with this code, its records may be in the log all the same, each once.',
        todo: 'Look at the servers and the network. Look for the records before you append them again, or use `appendOnce` ' +
          'with ids of your own.'
      },
      ERR_SERVER_REFUSED: {
        means: 'The NATS server refuses the client or its call. `cause` is the error of the server.',
        todo: 'Look at the token, the credentials, the permissions, and the options of the stream.'
      },
      ERR_LOG_REPLACED: {
        means: 'A log on JetStream is not what it was when it was opened: its stream was deleted, made anew or restored from ' +
          'an older copy, or it takes other subjects now. Nothing was appended to another stream. Or a text file that was ' +
          'opened with `flags: "r"` was cut, written anew or replaced, as logrotate and editors do. What the old file had ' +
          'was delivered, as far as it could still be read. Or the file of a checked log that was opened for reading was ' +
          'replaced by another log, or by a copy of it that has other records than were read. Or the ' +
          'newest segment of a log that was opened for reading was removed.',
        todo: 'Open the log again. It begins with the first record that is there now, so rebuild views and indexes from it ' +
          'on. If nobody should have changed it, find out who did.'
      },
      ERR_LOG_NOT_SYNCED: {
        means: 'A log on JetStream was opened with `requireSynced: true`, but its servers do not sync before they ' +
          'acknowledge, or do not say so.',
        todo: 'Set `sync_interval: always` in the `jetstream` block of every server, and give the URLs of all monitoring ports ' +
          'as `monitor`. See [scale](docs/guides/scale.md).'
      }
    }
  },
  {
    title: 'The program',
    text: 'These are mistakes of the program, or input that should have been refused earlier. Trying again does not help.',
    codes: {
      ERR_INVALID_ARGUMENT: {
        means: 'An argument or an option has the wrong type or is out of its range. Nothing was read or written.',
        todo: 'Correct the call. The message says what was expected.'
      },
      ERR_NOT_SUPPORTED: {
        means: 'This log, its framing, its storage or the stream does not support the call. The message says why.',
        todo: 'Check `log.supports` before the call.'
      },
      ERR_LOG_CLOSED: {
        means: 'The log was closed before the call.',
        todo: 'Something still uses the log after shutdown began. Stop that first. To use the log again, open it again.'
      },
      ERR_FILE_CLOSED: {
        means: 'The block file was closed before the call.',
        todo: 'Stop what still uses it before you close it, or make a new `BlockFile`.'
      },
      ERR_FILE_READ_ONLY: {
        means: 'The block file was opened with flags `"r"` and cannot be written.',
        todo: 'Open it with flags `"r+"`, the default, or do not write to it.'
      },
      ERR_FILE_RANGE: {
        means: 'A read or a write reaches past the end of the file. `size.value` is the end of the file. `write` never extends ' +
          'a file; `append` does.',
        todo: 'Ask the file for its size first. If a log reports it, the file has been truncated: see ERR_FILE_SHORT_READ.'
      },
      ERR_FILE_NUMBER_TOO_LARGE: {
        means: 'An integer in the file is above 2^53 - 1, and JavaScript cannot hold it.',
        todo: 'Probably no integer of this width begins at the position. Correct the position.'
      },
      ERR_RECORD_UNREPRESENTABLE: {
        means: 'The framing of this log cannot hold the record. Nothing was written. The offset framings mark a deleted record ' +
          'by zeros, so they refuse records that are empty or all zeros. The checked framing holds any record.',
        todo: 'Do not append such records, or convert the log to the checked framing.'
      },
      ERR_RECORD_TOO_LARGE: {
        means: 'A record is larger than `maxRecordSize`, or a batch with its frames is larger than 2 GiB, the limit of one ' +
          'write.',
        todo: 'Split the value or the batch, or raise `maxRecordSize`. Put data of many MiB into files of their own, and ' +
          'append the names of these files.'
      },
      ERR_RECORD_NOT_FOUND: {
        means: 'No record begins at the seq that was asked for.',
        todo: 'Use only seqs that `append` returned or a stream delivered. If the seq comes from another log, or from before a ' +
          'conversion, rebuild what keeps it.'
      },
      'flumelog:deleted': {
        means: 'The record was deleted. After `del`, `get` always fails with this code. It is the code that flumedb expects.',
        todo: 'Expected. Code that follows links from one record to another must be ready for it.'
      },
      ERR_STREAM_USED: {
        means: 'The stream was iterated before. It gives its records once.',
        todo: 'Call `log.stream` again for each loop.'
      },
      ERR_CODEC_ENCODE: {
        means: 'A value could not be encoded. Nothing was written. `cause` is the error that the codec threw. `path` leads to ' +
          'the part that cannot be encoded, if the codec knows it.',
        todo: 'Refuse the value where it comes in.'
      },
      ERR_CODEC_DECODE: {
        means: 'The bytes of one record could not be decoded; the log itself is sound. The log was written with another codec, ' +
          'or by a program that appended plain bytes. `cause` is the error that the codec threw.',
        todo: 'Find the program that wrote the record. `onCorrupt: \'skip\'` reads on, and counts such records.'
      },
      ERR_INDEX_BUILDER: {
        means: 'The builder of an index has ended, failed, said nothing for 30 s, or opened another log than the index is of. ' +
          '`cause` is its error, if there is one. Answers are right, and the thread that writes the log builds the index now.',
        todo: 'It is the `failure` of `index.status()`. Correct what the message says. A builder is used again once the log ' +
          'is opened with a new one.'
      },
      ERR_VIEW_REDUCE: {
        means: 'The function `reduce` of a view threw, which is the `cause`, or returned undefined or a promise. `seq` is that ' +
          'of the record. The view has nothing from there on.',
        todo: 'Correct `reduce`, so that it gives a state for every record, and start the program again: the view goes on from ' +
          'what was saved. If states before may be wrong too, raise `version`.'
      },
      ERR_VIEW_STALE: {
        means: 'The saved state of a view is damaged, or does not fit the log, or records were dropped before they were folded. ' +
          'The view cannot be built again as it was, because the log has dropped its first records.',
        todo: 'Restore the file of the view from a backup of the same time as the log. Or call `rebuild()`, which folds what ' +
          'the log still has.'
      },
      ERR_VIEW_CLOSED: {
        means: 'The view was closed before the call, or while the call waited.',
        todo: 'Make a new one with the same name: it goes on where this one ended.'
      },
      ERR_FORWARDER_CLOSED: {
        means: 'The forwarder was closed before the call, or before `drained` was reached.',
        todo: 'Make a new one with the same name: it goes on where this one ended.'
      },
      ABORT_ERR: {
        means: 'The `signal` of the call was aborted. The code is that of Node.js, and so is the name: `err.name` is ' +
          '`AbortError`. `cause` is the reason of the signal. The log was not changed.',
        todo: 'Nothing: the program itself ended the call.'
      }
    }
  },
  {
    title: 'From the file system',
    text: 'Errors of the file system keep the codes that Node.js gives them.',
    codes: {
      ENOSPC: { means: 'The disk is full.', todo: 'See [Disk full](docs/guides/operating.md#disk-full).' },
      EDQUOT: { means: 'The quota of the user is used up.', todo: 'See [Disk full](docs/guides/operating.md#disk-full).' },
      EIO: { means: 'The disk fails, or its connection does.', todo: 'Do what is said at ERR_LOG_POISONED.' },
      EACCES: {
        means: 'The user of the process may not open the file, or may not create files in its folder.',
        todo: 'Give the user both rights. A log that is open for writing needs them.'
      },
      EPERM: {
        means: 'The operation is not allowed. On Windows, a virus scanner or another program may hold the file.',
        todo: 'As with `EACCES`. On Windows, try again.'
      },
      EROFS: {
        means: 'The file system is mounted read-only, often by the kernel after an error of the disk.',
        todo: 'Look at `dmesg`. Reading with `flags: \'r\'` works.'
      },
      EMFILE: {
        means: 'The process has too many open files.',
        todo: 'Raise `ulimit -n`, or close logs that are not in use.'
      },
      EEXIST: {
        means: 'A snapshot, a repair or a conversion found something at its target, or a log was opened with `errorIfExists`.',
        todo: 'Choose a new name.'
      },
      ENOENT: {
        means: 'There is no such log, and it was opened with `flags: \'r\'` or `mustExist`, which make none.',
        todo: 'Check the path and the mount.'
      },
      EISDIR: {
        means: 'The path is that of a folder.',
        todo: 'Give the path of a file, or open the folder with [@millrace/segmented-log](packages/segmented-log/README.md).'
      }
    }
  }
]
