'use strict'
// Replaces the file of a segment: by one with fewer records, by a compressed one, or by the plain one. The new file is
// made beside the old one, whole and on stable storage, and renamed. So a crash leaves one of the two.

const { isHeld } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { LogError } = require('@millrace/errors')
const { ignoreMissing, keepOwnership } = require('./opening')

/** Deletions meanwhile make the copy useless; it is made again. */
const ATTEMPT_COUNT_MAX = 5

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').Source} Source
 *
 * @typedef {object} Copied
 * @property {number} count  how many records the filter chose
 * @property {number} readCount  of how many
 * @property {number} size  of the copy, in bytes
 */

/**
 * Copies records of a sealed segment into a smaller file with the same seqs, which takes its place. Reads go on
 * meanwhile. Call it in the turn of the retention.
 * @param {Core} core
 * @param {Segment} segment
 * @param {object} how
 * @param {string} how.suffix  of the unfinished file. It ends with `.new`: opening removes what a crash has left
 * @param {any} how.isWanted  a filter that the codec compiled
 * @param {boolean} [how.skipsDamage]  leaves out what is damaged
 * @param {() => void} how.check  called again and again; throws to end the call
 * @param {(copied: Copied) => Promise<boolean>} how.decide  called when the copy is whole and nobody uses the segment:
 *   whether it takes the segment's place
 * @returns {Promise<Copied>}
 */
async function rewriteSegment (core, segment, { suffix, check, decide, ...choice }) {
  const { segments, options: { storage } } = core
  const copyPath = segment.path + suffix
  const remove = () => promisesOf(storage).unlink(copyPath).catch(ignoreMissing)
  try {
    for (let attempt = 1; attempt <= ATTEMPT_COUNT_MAX; attempt++) {
      await remove()
      const { changeCount } = segment
      const copied = await segments.use(segment, async (log) => {
        if (segment.format === null && !log.recovery?.damage.length) await log.sync()
        return /** @type {Source} */ (segment.source).copyTo(copyPath, { ...choice, onProgress: check })
      })
      const isDone = await segments.exclusively(segment, async () => {
        if (segment.changeCount !== changeCount) return false
        if (await decide(copied)) {
          await replaceFile(core, segment, { from: copyPath, to: segment.path, format: null, size: copied.size })
          segment.changeCount++
        } else await remove()
        return true
      })
      if (isDone) return copied
    }
  } catch (err) {
    await remove().catch(() => {})
    throw err
  }
  await remove()
  throw new LogError('ERR_LOG_LOCKED', `${segment.path} is being deleted from again and again; try later`, { path: segment.path })
}

/**
 * Call it while nobody uses the segment.
 * @param {Core} core
 * @param {Segment} segment
 * @param {{ from: string, to: string, format: import('./compressed/formats').Format | null, size: number }} file
 * @returns {Promise<boolean>}  false if an append that does not wait has dropped the segment
 */
async function replaceFile (core, segment, { from, to, format, size }) {
  const { folder, options: { storage } } = core
  const before = segment.filePath
  const foreign = await core.findForeign([segment.fileName])
  if (foreign !== null) throw foreign
  await keepOwnership(storage, before, from).catch((err) => { if (!segment.isDropped) throw err })
  if (!await giveName(core, segment, from, to)) {
    await promisesOf(storage).unlink(from).catch(ignoreMissing)
    return false
  }
  await promisesOf(storage).syncFolder(folder)
  if (before !== to) {
    try {
      await promisesOf(storage).unlink(before)
    } catch (err) {
      if (segment.isDropped) return false
      // A reader may have it open, and the system remove no open file. Then it stays the file of the segment.
      if (isHeld(storage, err)) await promisesOf(storage).unlink(to)
      throw err
    }
    await promisesOf(storage).syncFolder(folder)
  }
  segment.format = format
  segment.size = size
  return true
}

/**
 * What was dropped must not come back. While a renaming takes waiting, nobody drops the segment.
 * @type {(core: Core, segment: Segment, from: string, to: string) => Promise<boolean>}
 */
async function giveName ({ options: { storage } }, segment, from, to) {
  if (segment.isDropped) return false
  if (canDropBusy(storage)) storage.renameSync?.(from, to)
  else await promisesOf(storage).rename(from, to)
  return true
}

/**
 * Whether a segment may be dropped while its file is being replaced.
 * @param {import('@millrace/block-file').Storage} storage
 */
function canDropBusy ({ renameSync, replacesOpenFiles }) {
  return renameSync !== undefined && replacesOpenFiles !== false
}

exports.rewriteSegment = rewriteSegment
exports.replaceFile = replaceFile
exports.canDropBusy = canDropBusy
