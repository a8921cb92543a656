'use strict'
// The public types of a segmented log: the members of every log, and those that only this one has.

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */
/** @template [T=any] @typedef {import('./options').SegmentedLogOptions<T>} SegmentedLogOptions */
/** @template [T=any] @typedef {import('@millrace/offset-log').Codec<T>} Codec */

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
 * @typedef {object} SegmentInfo
 * @property {string} path  Of the segment's file.
 * @property {number} base  The segment's seqs lie above: a seq of the log is the base and the seq in the file.
 * @property {Date} created  When it was made, by the clock of that time.
 * @property {'gzip' | 'zstd' | null} compressed  How it is compressed; null if it is not.
 * @property {boolean} kept  Whether only chosen records are left.
 */

/**
 * @typedef {object} SegmentMembers
 * @property {import('@millrace/flow').Observable<import('./retention').Dropped>} dropped  Tells of each drop.
 * @property {Method<[], void>} roll  Seals the newest segment, if it has a record, and begins the next one.
 * @property {Method<[], SegmentInfo[]>} segments  Lists the segments in order.
 * @property {Method<[seq: number], import('./retention').Dropped>} dropBefore  Drops the segments whose records all lie
 *   below the seq, chosen records too, unless a hold needs them; and what the limits no longer allow. The segment with
 *   the last durable record stays. It fails with ERR_LOG_FOREIGN_SEGMENT if it would have to remove a file that belongs
 *   to another log.
 * @property {Method<[name: string, seq: number], void>} hold  Keeps the record at the seq and all after it, across
 *   restarts. It is durable when the call ends. A later call with the same name replaces it. A name has 1 to 64 of the
 *   characters `A-Z a-z 0-9 _ -`. Holds are stronger than `maxAge`, `maxCount` and `dropBefore`, up to `maxHeldSize`
 *   bytes; `maxSize` is stronger than holds.
 * @property {Method<[name: string], void>} release  Removes a hold.
 * @property {Method<[], import('./holds').Hold[]>} holds  Lists the holds, and what was dropped although they needed
 *   it.
 */

/**
 * @template [T=any]
 * @typedef {ReturnType<typeof import('@millrace/offset-log').OffsetLog<T>>} OneFileLog
 */

/**
 * @template [T=any]
 * @typedef {object} Again
 * @property {() => SegmentedLog<T>} openAgain  Opens another log in the same folder with the same options, but for
 *   `signal` and `errorIfExists`, in place of one that was closed.
 */

/**
 * A log of many files. It has the methods of a log of one file, and those of SegmentMembers. `compact`, `snapshot`,
 * `measureReclaimable` and `partitions` fail with ERR_NOT_SUPPORTED. `stats` describes the newest segment and
 * adds `segmentCount`; its `id` is that of all segments. `filename` is the folder.
 * @template [T=any]
 * @typedef {Omit<OneFileLog<T>, 'compactionProgress'> & SegmentMembers & Again<T>} SegmentedLog
 */

/**
 * With or without `new`. The codec determines the type of the values; without a codec they are Buffers.
 * @typedef {{
 *   new <T>(path: string | URL, options: SegmentedLogOptions<T> & { codec: Codec<T> }): SegmentedLog<T>
 *   new (path: string | URL, options?: SegmentedLogOptions<Buffer> & { codec?: undefined }): SegmentedLog<Buffer>
 *   new (path: string | URL, options?: SegmentedLogOptions): SegmentedLog
 *   <T>(path: string | URL, options: SegmentedLogOptions<T> & { codec: Codec<T> }): SegmentedLog<T>
 *   (path: string | URL, options?: SegmentedLogOptions<Buffer> & { codec?: undefined }): SegmentedLog<Buffer>
 *   (path: string | URL, options?: SegmentedLogOptions): SegmentedLog
 * }} SegmentedLogConstructor
 */

module.exports = {}
