'use strict'
// Replaces the file of a segment: by one with fewer records, by a compressed one, or by the plain one. The new file is
// made beside the old one, whole and on stable storage, and renamed. So a crash leaves one of the two.

const { keepOwnership } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')
const { remove } = require('./files')

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 */

/**
 * Call it while nobody uses the segment.
 * @param {Core} core
 * @param {Segment} segment
 * @param {object} file
 * @param {string} file.from
 * @param {string} file.to
 * @param {import('./compressed/formats').Format | null} file.format
 * @param {number} file.size
 * @param {() => void} [file.onReplaced]  called once the segment has the new file, whatever fails then
 * @returns {Promise<boolean>}  false if an append that does not wait has dropped the segment
 */
async function replaceFile (core, segment, { from, to, format, size, onReplaced = () => {} }) {
  const { folder, options: { storage } } = core
  const before = segment.filePath
  const foreign = await core.findForeign(segment.fileName)
  if (foreign !== null) throw foreign
  await keepOwnership(storage, before, from).catch((err) => { if (!segment.isDropped) throw err })
  if (!await giveName(core, segment, from, to)) {
    await remove(storage, from)
    return false
  }
  if (before === to) onReplaced()
  await promisesOf(storage).syncFolder(folder)
  if (before !== to) {
    try {
      await promisesOf(storage).unlink(before)
    } catch (err) {
      if (segment.isDropped) return false
      // A reader may have it open, and the system remove no open file. Then it stays the file of the segment.
      await promisesOf(storage).unlink(to).catch(() => {})
      throw err
    }
    onReplaced()
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

exports.replaceFile = replaceFile
exports.canDropBusy = canDropBusy
