'use strict'
// The public types of a log, generic over the type of its values. tsc checks that the class Log implements them.

/**
 * @typedef {import('./range').RangeOptions} RangeOptions
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {import('./range').EntryShape} EntryShape
 * @typedef {import('./range').ValueShape} ValueShape
 * @typedef {import('./range').SeqShape} SeqShape
 * @typedef {import('./reads').GetOptions} GetOptions
 * @typedef {import('./node-streams').WritableOptions} WritableOptions
 * @typedef {Omit<RangeOptions, 'live' | 'old' | 'ref' | 'unref'>} ScanOptions
 * @typedef {Omit<ScanOptions, 'reverse' | 'cache'>} CountOptions
 * @typedef {Omit<CountOptions, 'limit'>} OneOptions  of `first` and `last`
 * @typedef {RangeOptions & ReadAhead} ReadableOptions
 * @typedef {object} SyncOptions  of `flushSync` and `appendSync`
 * @property {boolean | undefined} [sync]  False leaves out the sync: the records then survive a killed process, but not
 *   a power cut. True by default.
 * @typedef {object} AppendOptions  of `append`
 * @property {boolean | undefined} [seqs]  True gives an array with the seqs of all records, in their order. A single
 *   value gives an array of one seq, an empty batch an empty array. False, the default, gives the seq of the last
 *   record.
 * @property {AppendCondition | undefined} [if]  Appends only if no record matches, else fails with
 *   ERR_APPEND_CONDITION. Not for `appendSync`.
 * @typedef {object} AppendCondition  Decided against every record that can be read, and every append that is in front
 *   of this one in the queue; nothing comes between the decision and the append. Records after `since` may have to be
 *   read. Appends without a condition do not wait for that, so those that are made meanwhile come first. Records that
 *   were deleted, or dropped by retention, do not count.
 * @property {Where} where  No record may match it.
 * @property {number | undefined} [since]  Only records above this seq count, such as the last one that the caller has
 *   seen; all by default. If the log ends before it, or a power cut took that record of a checked log,
 *   ERR_LOG_SEQ_LOST: the caller has seen what is no longer there.
 * @typedef {SyncOptions & Pick<AppendOptions, 'seqs'>} AppendSyncOptions  of `appendSync`
 * @typedef {object} ReadAhead
 * @property {number} [highWaterMark]  How many records the stream reads ahead; 16 by default, as in Node.js.
 * @typedef {import('./index-seam').Explanation} Explanation
 * @typedef {{ ready: Method<[], void>, status: Method<[], any>, drop: Method<[], void> }} IndexCalls
 * @typedef {import('./partitions').Partition} Partition
 * @typedef {import('./options').FramingName} FramingName
 * @typedef {import('./durability').FsyncMode} FsyncMode
 * @typedef {import('./load').Recovery} Recovery
 * @typedef {import('./maintenance').LogStats} Stats
 * @typedef {import('./maintenance').Compacted} Compacted
 * @typedef {import('./snapshot').SnapshotOptions} SnapshotOptions
 * @typedef {import('./maintenance').Progress} Progress
 */

/** @template Result @typedef {import('@millrace/errors').NodeCallback<Result>} NodeCallback */
/** @template T @typedef {import('@millrace/flow').Observable<T>} Observable */
/** @template [T=any] @typedef {import('./codec').Codec<T>} Codec */
/** @template [T=any] @typedef {import('./options').OffsetLogOptions<T>} OffsetLogOptions */
/** @typedef {import('@millrace/where').Where} Where */

/**
 * A filter whose paths lead through the type of the values. W is alone in its union: otherwise the compiler takes the
 * first kind of filter for the type of a variable that may have any kind.
 * @template T
 * @template W
 * @typedef {{ where?: W | undefined } & { where?: import('@millrace/where').Checked<T, W> | undefined }} Filtered
 */

/**
 * A method that takes a node callback last, or returns a promise if it gets none.
 * @template {unknown[]} Args
 * @template Result
 * @typedef {{
 *   (...args: Args): Promise<Result>
 *   (...args: [...args: Args, cb: NodeCallback<Result>]): void
 * }} Method
 */

/**
 * The same for a method whose first argument is options that may include a filter.
 * @template T
 * @template Options
 * @template Result
 * @template {unknown[]} [More=[]]
 * @typedef {{
 *   <const W extends Where>(options: Options & Filtered<T, W>, ...more: More): Promise<Result>
 *   <const W extends Where>(options: Options & Filtered<T, W>,
 *     ...more: [...more: More, cb: NodeCallback<Result>]): void
 * }} FilteredMethod
 */

/**
 * The type of the seq if a value that is an array was appended without an array around it: an array is always a batch.
 * @typedef {{ readonly problem: 'an array is a batch: put a value that is an array into an array' }} ListIsABatch
 */

/**
 * Those values of T that are arrays.
 * @template T
 * @typedef {0 extends 1 & T ? never : T extends readonly unknown[] ? T : never} ListOf
 */

/** @typedef {{ seqs: true }} AllSeqs */
/** @typedef {{ seqs?: false | undefined }} LastSeq */

/**
 * The option `seqs` determines the type of the result.
 * @template Values
 * @typedef {Method<[values: Values], number> &
 *   Method<[values: Values, options: AppendOptions & AllSeqs], number[]> &
 *   Method<[values: Values, options: (AppendOptions & LastSeq) | undefined], number> &
 *   Method<[values: Values, options: AppendOptions | undefined], number | number[]>} AppendAll
 */

/**
 * @template T
 * @typedef {AppendAll<readonly T[]> &
 *   Method<[value: ListOf<T>], ListIsABatch> & Method<[value: ListOf<T>, options: AppendOptions], ListIsABatch> &
 *   AppendAll<T>} Append
 */

/**
 * @template T
 * @typedef {{
 *   (values: T | readonly T[], options: AppendSyncOptions & AllSeqs): number[]
 *   (values: T | readonly T[], options?: AppendSyncOptions & LastSeq): number
 *   (values: T | readonly T[], options?: AppendSyncOptions): number | number[]
 * }} AppendSync
 */

/** @template T @typedef {{ seq: number, value: T }} Entry */

/**
 * A pull-stream source that is also async-iterable. It delivers its records once: a second loop over it fails with
 * ERR_STREAM_USED. `lost` counts ranges of the file that were skipped as damaged, `undecodable` records that were
 * skipped because they did not decode.
 * @template Item
 * @typedef {{
 *   (abort: Error | boolean | null, cb?: (end: Error | true | null, item: Item) => void): void
 *   [Symbol.asyncIterator]: () => AsyncIterableIterator<Item>
 *   [Symbol.asyncDispose]: () => Promise<void>
 *   readonly lost: Lost
 *   readonly undecodable: Undecodable
 * }} Source
 */

/**
 * A Readable of Node.js in object mode, with the type of its items. Its end does not close the log.
 * @template Item
 * @typedef {{
 *   [Symbol.asyncIterator]: () => AsyncIterableIterator<Item>
 *   readonly lost: Lost
 *   readonly undecodable: Undecodable
 * } & import('node:stream').Readable} RecordReadable
 */

/**
 * A pull-stream sink, which appends what it reads; an array is a batch.
 * @template T
 * @typedef {(source: (abort: any, cb: (end: any, value?: T | readonly T[]) => void) => void) => void} Sink
 */

/**
 * The options `seqs` and `values` determine the type of the items.
 * @template T
 * @typedef {{
 *   <const W extends Where>(options: RangeOptions & Filtered<T, W> & ValueShape): Source<T>
 *   <const W extends Where>(options: RangeOptions & Filtered<T, W> & SeqShape): Source<number>
 *   <const W extends Where>(options?: RangeOptions & Filtered<T, W> & EntryShape): Source<Entry<T>>
 *   <const W extends Where>(options: RangeOptions & Filtered<T, W> &
 *     { seqs?: boolean | undefined, values?: true | undefined }): Source<T | Entry<T>>
 *   <const W extends Where>(options: RangeOptions & Filtered<T, W> &
 *     { seqs?: true | undefined, values?: boolean | undefined }): Source<number | Entry<T>>
 *   <const W extends Where>(options?: ReadOptions & Filtered<T, W>): Source<T | number | Entry<T>>
 * }} Stream
 */

/**
 * @template T
 * @typedef {{
 *   <const W extends Where>(options: ReadableOptions & Filtered<T, W> & ValueShape): RecordReadable<T>
 *   <const W extends Where>(options: ReadableOptions & Filtered<T, W> & SeqShape): RecordReadable<number>
 *   <const W extends Where>(options?: ReadableOptions & Filtered<T, W> & EntryShape): RecordReadable<Entry<T>>
 *   <const W extends Where>(options?: ReadableOptions & Filtered<T, W> &
 *     ReadOptions): RecordReadable<T | number | Entry<T>>
 * }} ToReadable
 */

/**
 * Reads one record of a range; undefined if the range is empty. It takes the bounds, `where`, `onCorrupt`,
 * `onRetained`, `signal`, `seqs` and `values`.
 * @template T
 * @typedef {Method<[], Entry<T> | undefined> &
 *   FilteredMethod<T, OneOptions & ValueShape, T | undefined> &
 *   FilteredMethod<T, OneOptions & SeqShape, number | undefined> &
 *   FilteredMethod<T, OneOptions & EntryShape, Entry<T> | undefined>} ReadOne
 */

/**
 * @typedef {object} Lost  the ranges of the file that were lost to damage and skipped
 * @property {number} count
 * @property {number} size  of all of them together, in bytes
 */

/**
 * @typedef {object} Undecodable  undamaged records that did not decode and were skipped
 * @property {number} count
 * @property {number} size  of all of them together, in bytes
 */

/**
 * A run of records. Record `i`, for `i` below `count`, is the bytes of `buffer` from `starts[i]` to `ends[i]`, and its
 * seq is `seqs[i]`. The arrays are longer than `count`. The log reuses the buffer and the arrays as soon as the call
 * returns.
 * @typedef {'buffer' | 'count' | 'seqs' | 'starts' | 'ends'} RunField
 * @typedef {Readonly<Pick<import('./record-run').RecordRun, RunField>>} RecordRun
 */

/**
 * Delivers many undecoded records per call. If the function returns false, the scan ends. If it returns a promise, the
 * scan waits until that settles, and the run stays valid until then.
 * @template T
 * @typedef {FilteredMethod<T, ScanOptions, { lost: Lost }, [onRecords: (records: RecordRun) => unknown]>} Scan
 */

/**
 * @typedef {object} Supports  what this log can do, of the things that some logs cannot
 * @property {boolean} atomicBatch  Batches are atomic: a batch survives a crash as a whole or not at all.
 * @property {boolean} compact  `compact` is possible.
 * @property {boolean} snapshot  `snapshot` is possible.
 * @property {boolean} durable  `durable` says which records are on stable storage.
 * @property {boolean} flushSync  `flushSync` and `appendSync` are possible.
 * @property {boolean} onCorrupt  `onCorrupt: 'skip'` is possible: reads can continue after damage.
 * @property {boolean} partitions  `partitions` is possible.
 * @property {boolean} del  `del` is possible.
 * @property {boolean} uniqueSeqs  No seq is given twice: also not after a power cut has taken the record that had it.
 */

/**
 * @template T
 * @typedef {object} LogMembers
 * @property {string} filename  The absolute path. A relative path is resolved at once, so a later `process.chdir`
 *   changes nothing.
 * @property {Codec<T>} codec  The codec that was given; without one, a codec that leaves bytes as they are.
 * @property {Observable<number>} since  Undefined until loaded, -1 when empty, then the seq of the last record. It
 *   falls only between two sessions, if the last records were deleted: above it `get` then fails with
 *   `flumelog:deleted`.
 * @property {Observable<number>} durable  The seq up to which everything is on stable storage; -1 if nothing is. It is
 *   never above `since`. A file of an offset framing does not say it: there it stays -1 for a log that is only read.
 * @property {Observable<Progress>} compactionProgress  Of the running or the last compaction, in bytes.
 * @property {Supports} supports  What this log can do. Calls that need what is false fail with ERR_NOT_SUPPORTED. Set
 *   once loaded.
 * @property {Recovery | null} recovery  What opening found wrong; null if nothing. Set once loaded.
 * @property {{ del: 'async' }} methods  flumedb offers these methods of the log as its own.
 * @property {Method<[], void>} ready  Waits until the log is loaded and recovered. It fails if opening failed; then
 *   every other call fails with the same error, and if no call reports it before the next turn of the event loop, the
 *   process emits the warning `FailedOpenWarning` with the error's code.
 * @property {Append<T>} append  Adds a record, or an array of them as an atomic batch, and returns the seq of the last
 *   one, or with `seqs: true` an array with those of all. `since` has reached it when the call ends. Concurrent calls
 *   share a write. If a value cannot be encoded, only this call fails, and `index` of the error is its place in the
 *   batch. A value that is an array itself must be put into an array.
 * @property {Method<[seq: number], T> & Method<[seq: number, options: GetOptions], T>} get  Reads one record and
 *   returns its value, which the log never changes later. It fails with `flumelog:deleted` if the record was deleted,
 *   with ERR_LOG_SEQ_LOST if a power cut took it, and with ERR_RECORD_NOT_FOUND if no record begins at the seq. The
 *   option `signal` ends the call.
 * @property {GetMany<T>} getMany  Reads many records and returns their values in the order of the seqs; undefined for a
 *   deleted record. If a seq fails, the call fails, and `index` of the error is its place in the list.
 * @property {ReadOne<T>} first  Reads the first record of a range; undefined if there is none.
 * @property {ReadOne<T>} last  Reads the last record of a range; undefined if there is none.
 * @property {Method<[], number> & FilteredMethod<T, CountOptions, number>} count  Counts the records of a range. It
 *   reads all of them, but those that an index knows for certain. It takes the bounds, `where`, `onCorrupt`,
 *   `onRetained`, `signal` and `limit`.
 * @property {Stream<T>} stream  Delivers the records of a range one by one, as a source that is a pull-stream and
 *   async-iterable. A stream that is not live delivers only records that the log had at the call. Each read decodes one
 *   record, and loads no more of the file than the blocks around it; a stream that nothing reads costs nothing. A value
 *   lives as long as you keep it, but Buffers share memory with up to 64 KiB of neighbouring records: if you keep few
 *   of many, copy these with `Buffer.from`. The shared memory cannot be transferred to a worker thread.
 * @property {ToReadable<T>} toReadable  Like `stream`, as a Readable of Node.js in object mode. If a record holds
 *   `null`, `toReadable({ seqs: false })` fails with ERR_NOT_SUPPORTED, because `null` ends a stream of Node.js.
 * @property {Scan<T>} scan  Reads the same range with many records per call, not decoded and not copied: the fastest
 *   way to read a log. The result has `lost`.
 * @property {(options?: WritableOptions) => import('node:stream').Writable} toWritable  Makes a Writable of Node.js in
 *   object mode, which appends the values in order; an array is a batch. If a value cannot be appended, the log has all
 *   values before it and none after it. Its end does not close the log.
 * @property {(done?: (err: Error | null) => void) => Sink<T>} toSink  Makes a pull-stream sink that appends what it
 *   reads. It calls `done` once all is appended, or after a failure.
 * @property {Method<[], void>} drained  Waits until `needsDrain` is false. A program that appends without waiting for
 *   each append should await it now and then: what waits to be written is in memory.
 * @property {Method<[seqs: number | readonly number[]], void>} del  Deletes a record or several: overwrites their bytes
 *   with zeros. `since` does not move. In a checked log the bytes are gone from the file after the next `sync`. After a
 *   crash each of the records is either as it was or deleted.
 * @property {Method<[], void>} sync  Waits until everything appended and deleted so far is on stable storage.
 * @property {(options?: SyncOptions) => void} flushSync  Writes everything appended so far before it
 *   returns, and syncs it, for `exit` handlers and the like. The callbacks of the appends run later, in their order.
 *   `sync: false` leaves out the sync: the records then survive a killed process, but not a power cut. It does not wait
 *   for deletions. It throws ERR_LOG_NOT_READY while the log is being opened, and for the few syncs that end a
 *   compaction, ERR_LOG_CLOSED if the log is closed and no earlier append waits, ERR_NOT_SUPPORTED if the storage has
 *   no synchronous calls, the error of opening, and that of a write or sync that fails, which the appends get too.
 * @property {AppendSync<T>} appendSync  Appends a record or a batch after all earlier appends and returns the seq of
 *   the last one, or with `seqs: true` those of all; it writes, syncs and throws as `flushSync` does. With
 *   `sync: false` it is the fastest way to have a record in the file before the next line of the program runs. If it
 *   throws, its records are not in the log, except with ERR_LOG_POISONED after a failed sync: then a power cut may take
 *   them.
 * @property {Method<[], void>} refresh  If another process writes the log, finds all that it had appended before the
 *   call. Reads do not need it: the log looks by itself, but some time may pass until then. Otherwise it does nothing.
 * @property {Method<[], Stats>} stats  Describes the log, without reading it.
 * @property {FilteredMethod<T, ScanOptions, Explanation> & Method<[], Explanation>} explain  Says how a read with these
 *   options would find its records: which paths of the index it would use, how many records it would read, and what it
 *   would scan, and why.
 * @property {IndexCalls | null} index  The index that the log was opened with: waits until it has what is readable now
 *   (`ready`), describes it (`status`), or removes its files (`drop`). Null if there is none.
 * @property {Method<[], number | null>} measureReclaimable  Returns how many bytes a compaction would give back; null
 *   if damage makes that unknown. It reads the whole log.
 * @property {Method<[], Compacted>} compact  Gives back the space of deleted records; checked framing only. Every
 *   record keeps its seq, and deleted ones still fail with `flumelog:deleted`. `since` and `durable` do not fall.
 *   Appends and reads continue, deletions wait. The new file needs room beside the old one. After a crash the log is
 *   the old file or the new one, as a whole.
 * @property {Method<[count: number], Partition[]>} partitions  Divides the records that the log has at the call into at
 *   most `count` ranges of about equal size in bytes, to be read side by side, such as in worker threads: options of
 *   `stream`, `scan` and other reads. Each but the first begins at a record, and ends where the next one begins. There
 *   are fewer if the log is short or damaged, and none if it is empty. The checked framing reads some pages for it, an
 *   offset framing walks over the log.
 * @property {Method<[path: string | URL], void> & Method<[path: string | URL, options: SnapshotOptions | undefined],
 *   void>} snapshot  Copies the log while it is in use, on stable storage and as if it was closed cleanly: all records
 *   that are readable at the call, with the same seqs, or with `where` only those that match. It verifies what it
 *   copies. It fails with EEXIST if something is at the path, and with ERR_LOG_CORRUPT if the log is damaged.
 * @property {Method<[], void>} close  Waits for all earlier calls, then ends live streams, syncs the log and releases
 *   the lock. A stream that has more to read fails with ERR_LOG_CLOSED. A second call waits for the same end.
 */

/**
 * @template T
 * @typedef {Method<[seqs: readonly number[]], Array<T | undefined>> &
 *   Method<[seqs: readonly number[], options: GetOptions], Array<T | undefined>>} GetMany
 */

/**
 * A log of one file. Every method takes a node callback last; without one it returns a promise. Methods are bound to
 * their log. `await using log = OffsetLog(path)` closes the log at the end of the block.
 * @template [T=any]
 * @typedef {LogMembers<T> & Readonly<Waiting> & { [Symbol.asyncDispose]: () => Promise<void> }} OffsetLog
 */

/**
 * @typedef {object} Waiting  what waits to be appended
 * @property {number} pendingSize  The bytes of all appends that have not called back: of records, each at least 1;
 *   in a log of one file, of their frames, too. What an append itself takes in memory does not count.
 * @property {boolean} needsDrain  True while more than 1 MiB waits, or more than half of `maxPendingSize` if that is
 *   less: a caller that does not await its appends should then await `drained`.
 */

/**
 * With or without `new`. The codec determines the type of the values; without a codec they are Buffers.
 * @typedef {{
 *   new <T>(path: string | URL, options: OffsetLogOptions<T> & { codec: Codec<T> }): OffsetLog<T>
 *   new (path: string | URL, options?: OffsetLogOptions<Buffer> & { codec?: undefined }): OffsetLog<Buffer>
 *   new (path: string | URL, options?: OffsetLogOptions): OffsetLog
 *   <T>(path: string | URL, options: OffsetLogOptions<T> & { codec: Codec<T> }): OffsetLog<T>
 *   (path: string | URL, options?: OffsetLogOptions<Buffer> & { codec?: undefined }): OffsetLog<Buffer>
 *   (path: string | URL, options?: OffsetLogOptions): OffsetLog
 * }} OffsetLogConstructor
 */

module.exports = {}
