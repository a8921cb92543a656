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
 * @typedef {RangeOptions & { highWaterMark?: number | undefined }} ReadableOptions
 * @typedef {ScanOptions & { threads?: undefined }} PlainScanOptions
 * @typedef {import('./threads/threaded-scans').ThreadOptions} ThreadOptions
 * @typedef {Omit<ScanOptions, 'reverse' | 'limit'> & ThreadOptions} ThreadedScanOptions
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

/**
 * @template T
 * @typedef {Method<[values: readonly T[]], number> & Method<[value: ListOf<T>], ListIsABatch> &
 *   Method<[value: T], number>} Append
 */

/** @template T @typedef {{ seq: number, value: T }} Entry */

/**
 * A pull-stream source that is also async-iterable, once.
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
 * A Readable of Node.js, with the type of its items.
 * @template Item
 * @typedef {{
 *   [Symbol.asyncIterator]: () => AsyncIterableIterator<Item>
 *   readonly lost: Lost
 *   readonly undecodable: Undecodable
 * } & import('node:stream').Readable} RecordReadable
 */

/**
 * A pull-stream sink.
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
 * Reads one record of a range; undefined if the range is empty.
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
 * A run of records. Record `i` is the bytes of `buffer` from `starts[i]` to `ends[i]`, for `i` below `count`; the
 * arrays may be longer. The log reuses the buffer and the arrays after the call.
 * @typedef {'buffer' | 'count' | 'seqs' | 'starts' | 'ends'} RunField
 * @typedef {Readonly<Pick<import('./record-run').RecordRun, RunField>>} RecordRun
 */

/**
 * @typedef {object} ThreadedScanResult
 * @property {Lost} lost  as without threads
 * @property {any[]} results  the task's results for the partitions, in the order of the log
 */

/**
 * The function that the module of a scan over threads exports. The threads call it for every partition.
 * @template [Parameters=any]
 * @template [Result=any]
 * @typedef {(parameters: Parameters) => Task<Result>} CreateTask
 */

/**
 * @template [Result=any]
 * @typedef {object} Task  reads one partition
 * @property {(records: RecordRun) => unknown} onRecords  false leaves out all records behind this run
 * @property {() => Result} [end]  returns the result for the partition, which must be cloneable
 * @property {import('./codec').Codec} [codec]  the log's codec; a scan with `where` needs it
 */

/**
 * Delivers many undecoded records per call. If the function returns false, the scan ends. With `threads` the task is
 * the path or the URL of a module.
 * @template T
 * @typedef {FilteredMethod<T, ThreadedScanOptions, ThreadedScanResult, [task: string | URL]> &
 *   FilteredMethod<T, PlainScanOptions, { lost: Lost }, [onRecords: (records: RecordRun) => unknown]>} Scan
 */

/**
 * @typedef {object} Supports  what this log can do, of the things that some logs cannot
 * @property {boolean} atomicBatch  a batch survives a crash as a whole or not at all
 * @property {boolean} compact
 * @property {boolean} snapshot
 * @property {boolean} durable
 * @property {boolean} flushSync
 * @property {boolean} onCorrupt  `'skip'` is possible: reads can continue behind damage
 * @property {boolean} threads  scans over threads
 */

/**
 * @template T
 * @typedef {object} LogMembers
 * @property {string} filename  the absolute path: a later change of the working folder does not matter
 * @property {Codec<T>} codec  as it was given; one that leaves bytes as they are if none was
 * @property {Observable<number>} since  undefined until loaded, -1 when empty, then the seq of the last record
 * @property {Observable<number>} durable  up to this seq all records are on stable storage; -1 if none.
 *   Never above `since`
 * @property {Observable<Progress>} compactionProgress  of the running or the last compaction
 * @property {Supports} supports  set once loaded
 * @property {Recovery | null} recovery  what opening found wrong; null if nothing. Set once loaded
 * @property {{ del: 'async' }} methods  flumedb offers these methods of the log as its own
 * @property {Method<[], void>} ready  waits until the log is loaded and recovered
 * @property {Append<T>} append  returns the seq of the last record; `since` has reached it. An array is a batch
 * @property {Method<[seq: number], T> & Method<[seq: number, options: GetOptions], T>} get  returns the value; fails
 *   with `flumelog:deleted` if the record was deleted
 * @property {GetMany<T>} getMany  returns the values in the order of the seqs; undefined for a deleted record
 * @property {ReadOne<T>} first  returns the first record of a range
 * @property {ReadOne<T>} last  returns the last record of a range
 * @property {Method<[], number> & FilteredMethod<T, CountOptions, number>} count  counts the records of a range. It
 *   reads all of them
 * @property {Stream<T>} stream  delivers the records of a range one by one
 * @property {ToReadable<T>} toReadable  like `stream`, as a Readable of Node.js
 * @property {Scan<T>} scan  like `stream`, with many records per call
 * @property {(options?: WritableOptions) => import('node:stream').Writable} toWritable  appends what is written to it
 * @property {(done?: (err: Error | null) => void) => Sink<T>} toSink  makes a sink that appends what it reads.
 *   It calls `done` once all is appended, or after a failure
 * @property {Method<[], void>} drained  waits until `needsDrain` is false
 * @property {Method<[seqs: number | readonly number[]], void>} del  erases records: overwrites their
 *   bytes. `since` does not move
 * @property {Method<[], void>} sync  waits until all earlier appends and deletions are on stable storage
 * @property {(options?: { sync?: boolean | undefined }) => void} flushSync  writes all earlier appends before it
 *   returns, and syncs. `sync: false` leaves out the sync. Callbacks run later. For `exit` handlers
 * @property {(values: T | readonly T[], options?: { sync?: boolean | undefined }) => number} appendSync  appends
 *   behind all earlier appends before it returns the seq, and syncs. `sync: false` leaves out the sync. Needs
 *   `supports.flushSync`
 * @property {Method<[], Stats>} stats  returns what is known without reading the log
 * @property {Method<[], number | null>} measureReclaimable  returns the bytes that a compaction would free; null if
 *   damage prevents it. Reads all of a checked log
 * @property {Method<[], Compacted>} compact  frees the space of deleted records. Seqs do not change; appends and reads
 *   continue, deletions wait
 * @property {Method<[path: string | URL], void> & Method<[path: string | URL, options: SnapshotOptions | undefined],
 *   void>} snapshot  makes a cleanly closed log of all records that are readable now, on stable storage. Appends and
 *   deletions continue. EEXIST if there is something at the path; ERR_LOG_CORRUPT if the log is damaged
 * @property {Method<[], void>} close  waits for earlier calls, syncs, ends live streams and closes the file.
 *   Later calls wait for the same end
 */

/**
 * @template T
 * @typedef {Method<[seqs: readonly number[]], Array<T | undefined>> &
 *   Method<[seqs: readonly number[], options: GetOptions], Array<T | undefined>>} GetMany
 */

/**
 * `pendingSize` counts the bytes of the appends that have not called back. While `needsDrain` is true, a caller that
 * does not await its appends should await `drained`. `await using` closes the log.
 * @template [T=any]
 * @typedef {LogMembers<T> & {
 *   readonly pendingSize: number
 *   readonly needsDrain: boolean
 *   [Symbol.asyncDispose]: () => Promise<void>
 * }} OffsetLog
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
