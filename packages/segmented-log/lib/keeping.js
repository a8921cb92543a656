'use strict'
// Keeps chosen records longer: before a segment is dropped, they are copied into a smaller file with the same seqs,
// which takes the segment's place. An empty file beside it, the mark, says so, and until when the segment got records.
//
// 1. The copy is made: whole, on stable storage, under a name of its own.
// 2. The mark is made. From here on, readers that expect every record are told that some are missing.
// 3. The copy is renamed over the segment.
//
// If a crash leaves a copy without a mark, opening removes it. If it leaves both, opening renames the copy.

const path = require('node:path')
const { LogError, checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { boundParts, promisesOf } = require('@millrace/flow')
const { parseWhere } = require('@millrace/where')
const { makeEmpty, remove } = require('./files')
const { keptName } = require('./names')
const { CHOSEN_SUFFIX } = require('./opening')
const { replaceFile } = require('./rewriting')

/** By default, the part of a quota that kept segments may take. */
const PART_OF_QUOTA = 4
/** Deletions meanwhile make the copy useless; it is made again. */
const ATTEMPT_COUNT_MAX = 5
/** Of what a segment contains, so that every copy of it would fail. After any other error a later copy may succeed. */
const HOPELESS = ['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT', 'ERR_FILE_SHORT_READ', 'ERR_CODEC_DECODE']

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 *
 * @typedef {object} KeepOptions  which records stay when their segment is dropped
 * @property {import('@millrace/where').Where} where  The records that stay. A new filter holds for segments that are
 *   dropped from then on; earlier copies stay as they are.
 * @property {number} [maxAge]  In ms: chosen records go when they are older. It must be above the `maxAge` of the log.
 *   By default they stay as long as `maxSize` lets them.
 * @property {number} [maxSize]  In bytes, of the segments with chosen records together: the oldest go first. By default
 *   a quarter of the log's `maxSize`, if it has one. Each takes 33 KiB or more; they count towards the log's `maxSize`,
 *   but not towards `maxCount`.
 */

/**
 * @param {unknown} given  the option `keep`
 * @param {{ maxSize: number, maxAge: number }} limits  of the log
 * @param {InstanceType<typeof import('@millrace/offset-log/composing').RecordCodec>} codec
 * @returns {{ isWanted: any, maxAge: number, maxSize: number } | null}  `isWanted`: the filter that the
 *   codec compiled
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 * @throws {LogError} ERR_CODEC_DECODE if the codec cannot compile the filter
 */
function parseKeep (given, limits, codec) {
  if (given === undefined) return null
  if (given === null || typeof given !== 'object') throw misuse(`SegmentedLog: keep must be { where, maxAge, maxSize }, got ${reasonOf(given)}`)
  const { where, maxAge = Infinity, maxSize = limits.maxSize / PART_OF_QUOTA, ...others } = /** @type {any} */ (given)
  checkOptions('SegmentedLog: keep', others, ['where', 'maxAge', 'maxSize'])
  if (where === undefined) throw misuse('SegmentedLog: keep needs where, the filter of the records that stay')
  for (const [name, value] of Object.entries({ maxAge, maxSize })) {
    if (!(typeof value === 'number' && value > 0)) throw misuse(`SegmentedLog: keep.${name} must be a number above 0, got ${reasonOf(value)}`)
  }
  if (limits.maxAge < Infinity && maxAge <= limits.maxAge) {
    throw misuse(`SegmentedLog: keep.maxAge (${maxAge}) must be above maxAge (${limits.maxAge}), which is for all records`)
  }
  if (maxSize > limits.maxSize) throw misuse(`SegmentedLog: keep.maxSize (${maxSize}) must not be above maxSize (${limits.maxSize})`)
  return { isWanted: codec.compile(parseWhere(where)), maxAge, maxSize }
}

/**
 * Leaves only the chosen records of a segment. Reads go on meanwhile. Call it in a turn of the core.
 * @param {Core} core
 * @param {Segment} segment  sealed, with another one after it
 * @param {() => void} check  called again and again; throws to end the call
 * @returns {Promise<boolean>}  false if none is chosen: then nothing was changed
 */
async function keepChosen (core, segment, check) {
  const { folder, segments, options: { keep, storage } } = core
  const untilMs = endedMs(core, segment)
  const mark = path.join(folder, keptName(segment.name, untilMs))
  const copyPath = segment.path + CHOSEN_SUFFIX
  const choice = { isWanted: keep?.isWanted, skipsDamage: true, onProgress: check }
  let isMarked = false
  try {
    for (let attempt = 1; attempt <= ATTEMPT_COUNT_MAX; attempt++) {
      await remove(storage, copyPath)
      const { changeCount } = segment
      const copied = await segments.opened.use(segment, async (log) => {
        if (segment.format === null && !log.recovery?.damage.length) await log.sync()
        return /** @type {Source} */ (segment.source).copyTo(copyPath, choice)
      }).catch((err) => {
        if (!isHopeless(err)) throw err
        return { err }
      })
      const isDone = await segments.opened.exclusively(segment, async () => {
        // Also a copy that failed may have failed because of that.
        if (segment.changeCount !== changeCount) return false
        if ('err' in copied) throw copied.err
        const { count, readCount, size } = copied
        if (count > 0) {
          isMarked = true
          segments.mark(segment, untilMs)
          await makeEmpty(storage, mark)
          await promisesOf(storage).syncFolder(folder)
        }
        if (count > 0 && count < readCount) {
          const onReplaced = () => {
            // From here on it needs its mark.
            isMarked = false
            segment.changeCount++
            segments.onGone(segment)
          }
          await replaceFile(core, segment, { from: copyPath, to: segment.path, format: null, size, onReplaced })
        } else await remove(storage, copyPath)
        return true
      })
      if (isDone) return segment.keptUntilMs !== null
    }
    await remove(storage, copyPath)
    throw new LogError('ERR_LOG_LOCKED', `${segment.path} is being deleted from again and again; try later`, { path: segment.path })
  } catch (err) {
    await remove(storage, copyPath).catch(() => {})
    if (isMarked) await unmark(core, segment, mark).catch(() => {})
    throw err
  }
}

/** When the segment may have got its last record. @type {(core: Core, segment: Segment) => number} */
function endedMs ({ segments: { list } }, segment) {
  const nowMs = Date.now()
  const { to } = boundParts(list.map(({ createdMs }) => createdMs), nowMs)
  return Math.min(to[list.indexOf(segment)], nowMs)
}

/** The copy could not take its place. @type {(core: Core, segment: Segment, mark: string) => Promise<void>} */
async function unmark ({ folder, segments, options: { storage } }, segment, mark) {
  await remove(storage, mark)
  await promisesOf(storage).syncFolder(folder)
  segments.mark(segment, null)
}

/** Whether a copy failed because of what the segment contains. @param {unknown} err */
function isHopeless (err) {
  return err instanceof LogError && HOPELESS.includes(err.code)
}

exports.parseKeep = parseKeep
exports.keepChosen = keepChosen
exports.isHopeless = isHopeless
