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
 * @property {string} path
 * @property {number} base  its seqs lie above
 * @property {Date} created
 * @property {'gzip' | 'zstd' | null} compressed
 * @property {boolean} kept  whether only chosen records are left
 */

/**
 * @typedef {object} SegmentMembers
 * @property {import('@millrace/flow').Observable<import('./retention').Dropped>} dropped  what was dropped last
 * @property {Method<[], void>} roll  seals the newest segment, if it has a record, and begins the next one
 * @property {Method<[], SegmentInfo[]>} segments  in order
 * @property {Method<[seq: number], import('./retention').Dropped>} dropBefore  drops the segments whose records all lie
 *   below the seq, unless a hold needs them
 * @property {Method<[name: string, seq: number], void>} hold  durably keeps the records from the seq on
 * @property {Method<[name: string], void>} release  removes a hold
 * @property {Method<[], import('./holds').Hold[]>} holds
 */

/**
 * @template [T=any]
 * @typedef {ReturnType<typeof import('@millrace/offset-log').OffsetLog<T>>} OneFileLog
 */

/**
 * @template [T=any]
 * @typedef {{ openAgain: () => SegmentedLog<T> }} Again  in the same folder, with the same options
 */

/**
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
