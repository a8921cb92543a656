'use strict'
// An append-only log of records framed at byte offsets. What only some programs use is loaded when they first do: to
// load all of it took half as long again.

const { SharedCache } = require('@millrace/block-file')
const { parseCodecName } = require('./lib/codec')
const { OffsetLog } = require('./lib/offset-log')

/**
 * @typedef {import('./lib/contract').RangeOptions} RangeOptions
 * @typedef {import('./lib/contract').ReadOptions} ReadOptions
 * @typedef {import('./lib/contract').CountOptions} CountOptions
 * @typedef {import('./lib/contract').GetOptions} GetOptions
 * @typedef {import('./lib/contract').WritableOptions} WritableOptions
 * @typedef {import('./lib/contract').ReadAhead} ReadAhead
 * @typedef {import('./lib/contract').ScanOptions} ScanOptions
 * @typedef {import('./lib/contract').SyncOptions} SyncOptions
 * @typedef {import('./lib/contract').AppendOptions} AppendOptions
 * @typedef {import('./lib/contract').AppendCondition} AppendCondition
 * @typedef {import('./lib/contract').AppendSyncOptions} AppendSyncOptions
 * @typedef {import('./lib/contract').Partition} Partition
 * @typedef {import('./lib/contract').Explanation} Explanation
 * @typedef {import('./lib/contract').IndexCalls} IndexCalls
 * @typedef {import('./lib/index-seam').IndexSource} IndexSource
 * @typedef {import('./lib/load').OpenRange} OpenRange
 * @typedef {import('./lib/contract').RecordRun} RecordRun
 * @typedef {import('./lib/contract').Lost} Lost
 * @typedef {import('./lib/contract').Recovery} Recovery
 * @typedef {import('./lib/contract').Stats} Stats
 * @typedef {import('./lib/contract').Supports} Supports
 * @typedef {import('./lib/contract').FramingName} FramingName
 * @typedef {import('./lib/contract').FsyncMode} FsyncMode
 */

/**
 * @template [T=any]
 * @typedef {import('./lib/contract').OffsetLogOptions<T>} OffsetLogOptions
 */

/**
 * @template [T=any]
 * @typedef {import('./lib/contract').Codec<T>} Codec
 */

/**
 * @template Item
 * @typedef {import('./lib/contract').Source<Item>} Source
 */

/**
 * @template Item
 * @typedef {import('./lib/contract').RecordReadable<Item>} RecordReadable
 */

/**
 * @template T
 * @typedef {import('./lib/contract').Sink<T>} Sink
 */

exports.SharedCache = SharedCache
exports.OffsetLog = OffsetLog
exports.parseCodecName = parseCodecName
