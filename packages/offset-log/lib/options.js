'use strict'
// Checks the options of an offset log and fills in the defaults.

const { fileStorage, parseFileMode, withFileMode } = require('@millrace/block-file')
const { LogError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { parseSignal } = require('@millrace/flow')
const { RecordCodec, loadWhere } = require('./codec')
const { createFileHeader, encodeHead, offsetFramings } = require('@millrace/framing')

const RECORD_SIZE_MAX = 2 ** 30
const CACHE_SIZE = 16 * 1024 * 1024
const FRAMINGS = ['checked', 'lines', ...Object.keys(offsetFramings)]
/** The options that are one of a few values. @type {Readonly<Record<string, unknown[]>>} */
const CHOICES = Object.freeze({
  framing: FRAMINGS,
  fsync: ['always', 'interval', 'never'],
  onCorrupt: ['error', 'skip'],
  verify: [true, false],
  strict: [true, false],
  lock: [true, false]
})
const HALF_PAIR = '\ud800'
const ID = /^[0-9a-f]{32}$/
const KNOWN = ['codec', 'framing', 'index', 'id', 'blockSize', 'flags', 'cache', 'fsync', 'verify', 'maxRecordSize', 'maxPendingSize',
  'onCorrupt',
  'lock', 'lockTimeout', 'mustExist', 'errorIfExists', 'strict', 'signal', 'storage', 'mode']

/** By call. */
const CALL_OPTIONS = { flushSync: ['sync'], append: ['seqs', 'if'], appendSync: ['sync', 'seqs', 'if'] }

/** @typedef {'checked' | 'lines' | 'offset32' | 'offset48' | 'offset53'} FramingName */

/**
 * @template [T=any]
 * @typedef {object} OffsetLogOptions
 * @property {import('./codec').Codec<T>} [codec]  Turns values into bytes and back. Without a codec values are Buffers.
 *   A checked log stores the name of the codec that it was made with; opening it with a codec of another name fails
 *   with ERR_CODEC_MISMATCH and changes nothing.
 * @property {FramingName} [framing]  The format of a new or empty file, `checked` by default. The format of any other
 *   file is detected; text that does not begin with a JSON object needs `lines`, unless the file of sums is beside it,
 *   or it is named as a segment. The offset framings `offset32`, `offset48` and `offset53` are those of
 *   flumelog-offset: they have no checksums and mark no batches. `offset32` ends at 4 GiB. `lines` is a plain text
 *   file, such as JSON Lines.
 * @property {import('./index-seam').IndexSource} [index]  Finds the records that a filter matches: reads with `where`
 *   use it; without one they scan. `createIndex` of the package index makes one. Its files are in `<path>.index`.
 * @property {string} [id]  Names a new log, in 32 hex digits; random by default. An existing log keeps its own. The
 *   offset framings store none. The files of one segmented log share it.
 * @property {number} [blockSize]  The unit of caching in the offset framings, in bytes; 64 KiB by default. The checked
 *   framing always has pages of 16 KiB.
 * @property {'r' | 'r+'} [flags]  `r+`, the default, creates the file and its folder. `r` never writes, repairs or
 *   creates anything, takes no lock, and follows the process that writes the log.
 * @property {number | import('@millrace/block-file').SharedCacheHandle} [cache]  How much memory keeps pages or blocks
 *   for `get`, in bytes; 16 MiB by default. It begins with 64 KiB and grows as it is used. Or a `SharedCache(size)`,
 *   for many logs, which together stay below its size.
 * @property {import('./durability').FsyncMode} [fsync]  When appends go to stable storage. `always`: before each calls
 *   back; appends that wait at the same time share a sync, and readers in this process see a record only once it is
 *   durable. `interval`, the default: within about a second. `never`: only with `sync` and `close`.
 * @property {boolean} [verify]  False does not compare checksums; true by default. The offset framings have none.
 * @property {boolean} [lock]  False takes no lock, for a program that keeps other writers out itself: two writers
 *   damage a log. True by default.
 * @property {number} [lockTimeout]  How many ms to wait until another writer closes the log, 0 by default. After that
 *   opening fails with ERR_LOG_LOCKED.
 * @property {number} [maxRecordSize]  In bytes; 2^30 by default. A larger record fails with ERR_RECORD_TOO_LARGE, and
 *   so does a batch that is larger than 2 GiB with its frames.
 * @property {number} [maxPendingSize]  In bytes; Infinity by default. While this much or more waits to be appended,
 *   `append` fails with ERR_LOG_OVERLOADED and writes nothing; `toWritable` and `toSink` wait instead. It is a limit
 *   for programs with many callers, such as a server: if only one caller appends, and awaits each append, none is
 *   refused.
 * @property {'error' | 'skip'} [onCorrupt]  What streams and scans do at damage, `'error'` by default: end with
 *   ERR_LOG_CORRUPT. With `'skip'` they continue after it and count what was lost. The offset framings cannot skip.
 * @property {boolean} [mustExist]  True fails with ENOENT if there is no file, and makes nothing; false by default.
 * @property {boolean} [errorIfExists]  True fails with EEXIST if there is a file, and does not change it; false by
 *   default.
 * @property {boolean} [strict]  True refuses unknown options of `stream`, `scan` and `get`, and lets every waiting live
 *   stream keep the process running. False, the default, is for flumedb and its views, which pass options of their own.
 * @property {AbortSignal} [signal]  If it is aborted while the log opens, every call fails with ABORT_ERR. It does
 *   nothing to an open log.
 * @property {import('@millrace/block-file').Storage} [storage]  Replaces the file system.
 * @property {number | string} [mode]  The mode of the files that the log makes, such as 0o640 or '640': the log,
 *   copies, snapshots, what `compact` writes, and the record of the lock. 0o600 by default, and 0o644 for that record.
 *   The umask takes its bits away. The owner must be allowed to read and write. A file that exists keeps its mode, also
 *   when it is compacted: use `chmod`. Folders are made as the umask says.
 */

/**
 * @param {OffsetLogOptions & Record<string, unknown>} [options]
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
// eslint-disable-next-line complexity -- a default for each option
function parseOptions (options = {}) {
  checkQuickly('OffsetLog', options, KNOWN)
  const {
    codec, id, index, framing = 'checked', maxRecordSize = RECORD_SIZE_MAX, maxPendingSize = Infinity, blockSize, flags, cache = CACHE_SIZE,
    fsync = 'interval', verify = true, onCorrupt = 'error', lock = true, lockTimeout, mustExist, errorIfExists, strict = false,
    signal
  } = options
  const { storage: given = fileStorage, mode } = options
  const storage = mode === undefined ? given : withFileMode(given, parseFileMode('OffsetLog', mode))
  // Or the lock of an open `Folder` of @millrace/block-file, which covers the file.
  const isLock = typeof lock === 'object' && lock !== null
  const chosen = { framing, fsync, onCorrupt, verify, strict, lock: isLock || lock }
  for (const [name, value] of Object.entries(chosen)) {
    const choices = CHOICES[name]
    if (!choices.includes(value)) throw misuse(`OffsetLog: ${name} must be one of ${choices.join(', ')}, got ${reasonOf(value)}`)
  }
  if (id !== undefined && !(typeof id === 'string' && ID.test(id))) throw misuse(`OffsetLog: id must be 32 hex digits, got ${reasonOf(id)}`)
  if (!Number.isSafeInteger(maxRecordSize) || maxRecordSize < 1 || maxRecordSize > RECORD_SIZE_MAX) {
    throw misuse(`OffsetLog: maxRecordSize must be from 1 to ${RECORD_SIZE_MAX} bytes, got ${reasonOf(maxRecordSize)}`)
  }
  if (typeof maxPendingSize !== 'number' || !(maxPendingSize > 0)) {
    throw misuse(`OffsetLog: maxPendingSize must be a number of bytes above 0, got ${reasonOf(maxPendingSize)}`)
  }
  if (index !== undefined) require('./index-seam').checkIndex('OffsetLog', index)
  const recordCodec = new RecordCodec(codec)
  if (recordCodec.hasDictionary && framing !== 'checked') throw misuse(`OffsetLog: ${framing} cannot store a dictionary; give a codec without one`)
  const createHead = () => encodeHead(createFileHeader(recordCodec.name, id ? Buffer.from(id, 'hex') : null, recordCodec.hasDictionary))
  return {
    codec: recordCodec,
    framing,
    index: index ?? null,
    id: id === undefined ? null : Buffer.from(id, 'hex'),
    fsync,
    verify,
    skipsDamage: onCorrupt === 'skip',
    isStrict: strict,
    signal: signal === undefined ? null : parseSignal('OffsetLog', signal),
    maxRecordSize,
    maxPendingSize,
    storage,
    blocks: {
      flags,
      mustExist,
      errorIfExists,
      createFolder: true,
      initial: framing === 'checked' ? createHead : null,
      lock,
      lockTimeout,
      signal,
      blockSize,
      cache,
      storage
    }
  }
}

/**
 * Checks the options of calls that write without waiting.
 * @param {'flushSync' | 'appendSync'} call
 * @param {{ sync?: boolean | undefined }} options  `sync`: false leaves out the sync
 * @returns {boolean}  whether to sync
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseFlush (call, options) {
  checkQuickly(call, options, CALL_OPTIONS[call])
  const { sync = true } = options
  if (typeof sync !== 'boolean') throw misuse(`${call}: sync must be true or false, got ${reasonOf(sync)}`)
  return sync
}

/**
 * Checks the options of `append` and `appendSync`.
 * @param {'append' | 'appendSync'} call
 * @param {{ seqs?: boolean | undefined, if?: unknown }} options
 * @returns {boolean}  whether to give the seqs of all records
 * @throws {TypeError} ERR_INVALID_ARGUMENT; ERR_NOT_SUPPORTED
 */
function parseAppend (call, options) {
  checkQuickly(call, options, CALL_OPTIONS[call])
  const { seqs = false } = options
  if (call === 'appendSync' && options.if !== undefined) {
    throw new LogError('ERR_NOT_SUPPORTED', 'appendSync: to decide about a condition may take reading the log; await append with if')
  }
  if (typeof seqs !== 'boolean') throw misuse(`${call}: seqs must be true or false, got ${reasonOf(seqs)}`)
  return seqs
}

/**
 * @typedef {{ where: import('@millrace/where').Filter[], since: number }} Condition  no record after `since` may match
 */

const CONDITION_OPTIONS = ['where', 'since']

/**
 * The condition of an `append`.
 * @param {{ if?: unknown }} options  the other ones are checked
 * @param {RecordCodec} codec
 * @returns {Condition | null}  null if there is none
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseCondition ({ if: given }, codec) {
  if (given === undefined) return null
  if (given === null || typeof given !== 'object') throw misuse(`append: if must be { where, since }, got ${reasonOf(given)}`)
  checkQuickly('append: if', given, CONDITION_OPTIONS)
  const { where, since = -1 } = /** @type {Record<string, any>} */ (given)
  if (where === undefined) throw misuse('append: if must have a where; an empty list matches every record')
  if (!Number.isSafeInteger(since) || since < -1) throw misuse(`append: since of if must be a seq, or -1, got ${reasonOf(since)}`)
  try {
    const filters = loadWhere().parseWhere(where)
    if (hasHalfPair(filters) && losesHalfPairs(codec)) {
      throw new TypeError(`where has half a surrogate pair. The codec ${codec.name} stores U+FFFD for it, so no record would ever match; ` +
        'give text.toWellFormed(), in the record too')
    }
    return { where: filters, since }
  } catch (err) {
    throw err instanceof TypeError ? misuse(`append: if: ${err.message}`) : err
  }
}

/** Whether a text in it is none that UTF-8 can say. @type {(part: any) => boolean} */
function hasHalfPair (part) {
  if (typeof part === 'string') return !(/** @type {any} */ (part).isWellFormed())
  if (typeof part !== 'object' || part === null) return false
  // Each append with a condition comes here. A list of an object's values takes longer, and so does `in` of an array.
  if (Array.isArray(part)) {
    for (let index = 0; index < part.length; index++) if (hasHalfPair(part[index])) return true
    return false
  }
  for (const key in part) if (hasHalfPair(part[key])) return true
  return false
}

/**
 * A record with such a text would never match its own condition, and a record that is to be there once would be there
 * twice. JSON keeps it. Of a codec that takes no texts nothing is known.
 * @param {RecordCodec} codec
 */
function losesHalfPairs (codec) {
  try {
    const bytes = /** @type {Buffer} */ (codec.encodeAll(HALF_PAIR))
    const read = codec.decode(bytes, 0, bytes.length, -1)
    return typeof read === 'string' && read !== HALF_PAIR
  } catch {
    return false
  }
}

/**
 * As `checkOptions`, which is asked only if something may be wrong: appends are many.
 * @type {(call: string, options: object, known: readonly string[]) => void}
 */
function checkQuickly (call, options, known) {
  let isRight = options !== null && typeof options === 'object' && !Array.isArray(options)
  for (const name in options) isRight &&= known.includes(name)
  if (!isRight) checkOptions(call, options, known)
}

exports.parseOptions = parseOptions
exports.parseAppend = parseAppend
exports.parseCondition = parseCondition
exports.parseFlush = parseFlush
