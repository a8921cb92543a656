'use strict'
// A segment without records and without a file. If the newest segment cannot be opened, a log that is open for reading
// has a stand-in after it, as a writer would make a segment there. It ends when the writer has made one.

const { nextTick } = require('node:process')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { encodeEmpty, sourceOf } = require('@millrace/offset-log/composing')
const { sizeOf } = require('./files')

/** A segment has at least this many bytes. */
const HEAD_SIZE = 32 * 1024

/**
 * @typedef {ReturnType<typeof import('./options').parseOptions>} Options
 * @typedef {import('./names').SegmentName} SegmentName
 * @typedef {import('@millrace/block-file').StorageHandle} StorageHandle
 */

/**
 * @param {string} folder
 * @param {Options} options
 * @param {SegmentName[]} segments  the last one cannot be opened
 * @returns {Promise<{ size: number, logOptions: object }>}  `size`: of the file of the broken one, in bytes; at least
 *   that of a segment without records. `logOptions`: they open the stand-in, by any path
 */
async function createStandIn (folder, options, segments) {
  const bytes = options.active.framing === 'checked' ? await encodeLike(folder, options, segments) : Buffer.alloc(0)
  const broken = path.join(folder, segments[segments.length - 1].file)
  // It may be no file at all.
  const size = await sizeOf(options.storage, broken).catch(() => 0)
  return { size: Math.max(size, HEAD_SIZE), logOptions: { ...options.active, storage: storageOf(bytes) } }
}

/** @type {(folder: string, options: Options, segments: SegmentName[]) => Promise<Buffer>} a segment without records */
async function encodeLike (folder, options, segments) {
  const { id, codec } = await findLike(folder, options, segments.slice(0, -1))
  return encodeEmpty(codec ?? '', id)
}

/**
 * The id and the codec of the segments that can be opened.
 * @type {(folder: string, options: Options, segments: SegmentName[]) =>
 *   Promise<{ id: Buffer | null, codec: string | null }>}
 */
async function findLike (folder, { sealed }, segments) {
  for (const { name } of [...segments].reverse()) {
    const log = OffsetLog(path.join(folder, name), { ...sealed, flags: 'r', mustExist: false })
    const stats = await log.ready().then(() => log.stats()).catch(() => null)
    const id = stats === null ? null : sourceOf(log).id
    await log.close()
    if (stats !== null && id !== null) return { id, codec: stats.codec }
  }
  return { id: null, codec: null }
}

/**
 * Of one file, which is never changed.
 * @param {Buffer} bytes
 * @returns {any}
 */
function storageOf (bytes) {
  const handle = {
    /** @type {StorageHandle['readSync']} */
    readSync: (buf, offset, length, position) => bytes.copy(buf, offset, position, position + length),
    /** @type {StorageHandle['read']} */
    read: (buf, offset, length, position, cb) => nextTick(cb, null, handle.readSync(buf, offset, length, position)),
    /** @type {StorageHandle['size']} */
    size: (cb) => nextTick(cb, null, bytes.length),
    /** @type {StorageHandle['close']} */
    close: (cb) => nextTick(cb, null)
  }
  return {
    open: (/** @type {any[]} */ ...args) => nextTick(args[2], null, handle),
    watch: (/** @type {any[]} */ ...args) => nextTick(args[2], null, { isTrusted: true, close: () => {} })
  }
}

exports.HEAD_SIZE = HEAD_SIZE
exports.createStandIn = createStandIn
exports.findLike = findLike
