'use strict'
// What users see of a log, as types, over the type of its values. tsc checks that the class Log keeps to it.

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
 * @typedef {Omit<CountOptions, 'limit'>} OneOptions  of a call that gives one record
 * @typedef {RangeOptions & { highWaterMark?: number | undefined }} ReadableOptions
 * @typedef {ScanOptions & { threads?: undefined }} PlainScanOptions
 * @typedef {import('./threads/threaded-scans').ThreadOptions} ThreadOptions
 * @typedef {Omit<ScanOptions, 'reverse' | 'limit'> & ThreadOptions} ThreadedScanOptions
 * @typedef {import('./options').FramingName} FramingName
 * @typedef {import('./durability').FsyncMode} FsyncMode
 * @typedef {import('./load').Recovery} Recovery
 * @typedef {import('./maintenance').LogStats} Stats
 * @typedef {import('./maintenance').Compacted} Compacted
 * @typedef {import('./maintenance').Progress} Progress
 */

/**
 * @template Result
 * @typedef {import('@millrace/errors').NodeCallback<Result>} NodeCallback
 */

/**
 * @template T
 * @typedef {import('@millrace/flow').Observable<T>} Observable
 */

/**
 * @template [T=any]
 * @typedef {import('./codec').Codec<T>} Codec
 */

/**
 * @template [T=any]
 * @typedef {import('./options').OffsetLogOptions<T>} OffsetLogOptions
 */

/**
 * A method that takes a node callback last, or gives a promise when it gets none.
 * @template {unknown[]} Args
 * @template Result
 * @typedef {{
 *   (...args: Args): Promise<Result>
 *   (...args: [...args: Args, cb: NodeCallback<Result>]): void
 * }} Method
 */

/**
 * An array is always a batch: a value that is an array itself goes into one. Where it does not, the seq has this type.
 * @typedef {{ readonly problem: 'an array is a batch: put a value that is an array into an array' }} ListIsABatch
 */

/**
 * The values that are arrays.
 * @template T
 * @typedef {0 extends 1 & T ? never : T extends readonly unknown[] ? T : never} ListOf
 */

/**
 * @template T
 * @typedef {Method<[values: readonly T[]], number> & Method<[value: ListOf<T>], ListIsABatch> &
 *   Method<[value: T], number>} Append
 */

/**
 * @template T
 * @typedef {{ seq: number, value: T }} Entry
 */

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
 * A stream of Node.js, which knows what its items are.
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
 * What the items are follows from `seqs` and `values`.
 * @template T
 * @typedef {{
 *   (options: RangeOptions & ValueShape): Source<T>
 *   (options: RangeOptions & SeqShape): Source<number>
 *   (options?: RangeOptions & EntryShape): Source<Entry<T>>
 *   (options: RangeOptions & { seqs?: boolean | undefined, values?: true | undefined }): Source<T | Entry<T>>
 *   (options: RangeOptions & { seqs?: true | undefined, values?: boolean | undefined }): Source<number | Entry<T>>
 *   (options?: ReadOptions): Source<T | number | Entry<T>>
 * }} Stream
 */

/**
 * @template T
 * @typedef {{
 *   (options: ReadableOptions & ValueShape): RecordReadable<T>
 *   (options: ReadableOptions & SeqShape): RecordReadable<number>
 *   (options?: ReadableOptions & EntryShape): RecordReadable<Entry<T>>
 *   (options?: ReadableOptions & ReadOptions): RecordReadable<T | number | Entry<T>>
 * }} ToReadable
 */

/**
 * One record of a range, if there is one.
 * @template T
 * @typedef {Method<[], Entry<T> | undefined> &
 *   Method<[options: OneOptions & ValueShape], T | undefined> &
 *   Method<[options: OneOptions & SeqShape], number | undefined> &
 *   Method<[options: OneOptions & EntryShape], Entry<T> | undefined>} ReadOne
 */

/**
 * @typedef {object} Lost  what damage took where it was skipped
 * @property {number} count  of ranges of the file
 * @property {number} size  of all of them, in bytes
 */

/**
 * @typedef {object} Undecodable  what was skipped though its bytes are sound
 * @property {number} count  of records
 * @property {number} size  of all of them, in bytes
 */

/**
 * A run of records: record `i`, below `count`, is the bytes of `buffer` from `starts[i]` to `ends[i]`. The arrays are
 * longer than `count`, and all of it is used again after the call.
 * @typedef {'buffer' | 'count' | 'seqs' | 'starts' | 'ends'} RunField
 * @typedef {Readonly<Pick<import('./record-run').RecordRun, RunField>>} RecordRun
 */

/**
 * @typedef {object} ThreadedScanResult
 * @property {Lost} lost  as without threads
 * @property {any[]} results  what the task came to for each part of the log, in order
 */

/**
 * What a scan over threads calls in each of them: the function that its module exports.
 * @template [Parameters=any]
 * @template [Result=any]
 * @typedef {(parameters: Parameters) => Task<Result>} CreateTask
 */

/**
 * @template [Result=any]
 * @typedef {object} Task  for one part of the log
 * @property {(records: RecordRun) => unknown} onRecords  false leaves out what comes behind
 * @property {() => Result} [end]  what the part comes to: anything that can be cloned
 * @property {import('./codec').Codec} [codec]  that of the log, for `where`
 */

/**
 * Many a call and undecoded; false from the function ends it. With `threads` it is the path of a module, or its URL.
 * @typedef {Method<[options: ThreadedScanOptions, task: string | URL], ThreadedScanResult> &
 *   Method<[options: PlainScanOptions, onRecords: (records: RecordRun) => unknown], { lost: Lost }>} Scan
 */

/**
 * @typedef {object} Supports  what a log can do of what some logs cannot
 * @property {boolean} atomicBatch  a batch survives a crash as a whole or not at all
 * @property {boolean} compact
 * @property {boolean} snapshot
 * @property {boolean} durable
 * @property {boolean} onCorrupt  `'skip'` can go on behind damage
 * @property {boolean} threads  scans over threads
 */

/**
 * @template T
 * @typedef {object} LogMembers
 * @property {string} filename  the path, absolute: what was given means the same ever after
 * @property {Observable<number>} since  undefined until loaded, -1 when empty, then the seq of the last record
 * @property {Observable<number>} durable  the seq up to which all is on stable storage, -1 if none; never above `since`
 * @property {Observable<Progress>} compactionProgress  how far a compaction has come, while one runs
 * @property {Supports} supports  set once loaded
 * @property {Recovery | null} recovery  what opening found wrong; set once loaded
 * @property {{ del: 'async' }} methods  for flumedb
 * @property {Method<[], void>} ready  the log is loaded and recovered, or failed to be
 * @property {Append<T>} append  gives the seq of the last record, which `since` has reached. An array is one batch
 * @property {Method<[seq: number], T> & Method<[seq: number, options: GetOptions], T>} get  the value;
 *   `flumelog:deleted` if it was deleted
 * @property {GetMany<T>} getMany  the values in the order of the seqs; undefined for one that was deleted
 * @property {ReadOne<T>} first  the first record of a range
 * @property {ReadOne<T>} last  the last record of a range
 * @property {Method<[], number> & Method<[options: CountOptions], number>} count  how many records a range has
 * @property {Stream<T>} stream  the records of a range, one by one
 * @property {ToReadable<T>} toReadable  the same as a stream of Node.js
 * @property {Scan} scan  the same as `stream`, many records a call
 * @property {(options?: WritableOptions) => import('node:stream').Writable} toWritable  appends what is written to it
 * @property {(done?: (err: Error | null) => void) => Sink<T>} toSink  a pull-stream sink: appends what it reads
 * @property {Method<[], void>} drained  `needsDrain` is false
 * @property {Method<[seqs: number | readonly number[]], void>} del  erases records; `since` does not move
 * @property {Method<[], void>} sync  all that was appended and deleted before is on stable storage
 * @property {Method<[], Stats>} stats  what is known without reading the log
 * @property {Method<[], number | null>} measureReclaimable  bytes that a compaction would give back; null if damage
 *   prevents it. Reads all of a checked log
 * @property {Method<[], Compacted>} compact  gives back the space of deleted records
 * @property {Method<[path: string | URL], void>} snapshot  copies all that can be read now; nothing may be at the path
 * @property {Method<[], void>} close  waits for what was asked before, syncs, ends live streams
 */

/**
 * @template T
 * @typedef {Method<[seqs: readonly number[]], Array<T | undefined>> &
 *   Method<[seqs: readonly number[], options: GetOptions], Array<T | undefined>>} GetMany
 */

/**
 * `pendingSize` is how many bytes were given to `append` and have not called back. `needsDrain` is whether that is so
 * much that a caller who does not await appends should await `drained`. `await using` closes the log.
 * @template [T=any]
 * @typedef {LogMembers<T> & {
 *   readonly pendingSize: number
 *   readonly needsDrain: boolean
 *   [Symbol.asyncDispose]: () => Promise<void>
 * }} OffsetLog
 */

/**
 * With or without `new`. What the values are follows from the codec; without one they are bytes.
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
