'use strict'
// What users see of a log, as types, over the type of its values. tsc checks that the class Log keeps to it.

/**
 * @typedef {import('./range').ReadOptions} ReadOptions
 * @typedef {'live' | 'old' | 'seqs' | 'values' | 'ref' | 'unref'} StreamOption  that no scan has
 * @typedef {Omit<ReadOptions, StreamOption> & { signal?: AbortSignal }} ScanOptions
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
 * An array is always a batch: a value that is an array itself goes into one.
 * @template T
 * @typedef {T extends readonly unknown[] ? never : T} NoList
 */

/**
 * @template T
 * @typedef {Method<[value: NoList<T>], number> & Method<[values: readonly T[]], number>} Append
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
 *   readonly lost: Lost
 *   readonly undecodable: Undecodable
 * }} Source
 */

/**
 * What the items are follows from `seqs` and `values`.
 * @template T
 * @typedef {{
 *   (options: ReadOptions & { seqs: false }): Source<T>
 *   (options: ReadOptions & { seqs?: true, values: false }): Source<number>
 *   (options?: ReadOptions & { seqs?: true, values?: true }): Source<Entry<T>>
 *   (options?: ReadOptions): Source<T | number | Entry<T>>
 * }} Stream
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
 */

/**
 * @template [T=any]
 * @typedef {object} OffsetLog
 * @property {string} filename  the path, absolute: what was given means the same ever after
 * @property {Observable<number>} since  undefined until loaded, -1 when empty, then the seq of the last record
 * @property {Observable<number>} durable  the seq up to which all is on stable storage, -1 if none; never above `since`
 * @property {Observable<Progress>} compactionProgress  how far a compaction has come, while one runs
 * @property {Supports} supports  set once loaded
 * @property {Recovery | null} recovery  what opening found wrong; set once loaded
 * @property {{ del: 'async' }} methods  for flumedb
 * @property {Method<[], void>} ready  the log is loaded and recovered, or failed to be
 * @property {Append<T>} append  gives the seq of the last record, which `since` has reached. An array is one batch
 * @property {Method<[seq: number], T>} get  the value; `flumelog:deleted` if it was deleted
 * @property {Stream<T>} stream  the records of a range, one by one
 * @property {Scan} scan  the same as `stream`, many records a call
 * @property {Method<[seqs: number | readonly number[]], void>} del  erases records; `since` does not move
 * @property {Method<[], void>} sync  all that was appended and deleted before is on stable storage
 * @property {Method<[], Stats>} stats
 * @property {Method<[], Compacted>} compact  gives back the space of deleted records
 * @property {Method<[path: string], void>} snapshot  copies all that can be read now; nothing may be at the path
 * @property {Method<[], void>} close  waits for what was asked before, syncs, ends live streams
 */

/**
 * With or without `new`. What the values are follows from the codec; without one they are bytes.
 * @typedef {{
 *   new <T>(path: string, options: OffsetLogOptions<T> & { codec: Codec<T> }): OffsetLog<T>
 *   new (path: string, options?: OffsetLogOptions<Buffer> & { codec?: undefined }): OffsetLog<Buffer>
 *   new (path: string, options?: OffsetLogOptions): OffsetLog
 *   <T>(path: string, options: OffsetLogOptions<T> & { codec: Codec<T> }): OffsetLog<T>
 *   (path: string, options?: OffsetLogOptions<Buffer> & { codec?: undefined }): OffsetLog<Buffer>
 *   (path: string, options?: OffsetLogOptions): OffsetLog
 * }} OffsetLogConstructor
 */

module.exports = {}
