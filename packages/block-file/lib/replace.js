'use strict'
// Another file under the same path: the writer continues with it. Readers wait meanwhile.

const path = require('node:path')
const { promisesOf } = require('@millrace/flow')
const { openSized } = require('./open')
const { moved, nameNotSynced, notLocked, notReopened } = require('./whole-io')

/**
 * @typedef {import('./whole-io').OpenFile} OpenFile
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {(next: import('./open').Sized) => void} GoOnWith  from here on `file` is this one
 */

/**
 * Renames the file `from` over an open one.
 * @param {OpenFile} file
 * @param {StorageHandle} handle  of the open file; closed afterwards
 * @param {string} from  its path, in the same folder; complete and synced
 * @param {() => void} check  called just before; may throw
 * @param {GoOnWith} goOnWith
 * @throws ERR_FILE_NOT_UNDONE: after a power cut either file may have the name
 */
async function replaceWith (file, handle, from, check, goOnWith) {
  const { lockHeld, storage } = file
  // During the replacement the lock's record names no file. If it cannot name the new file, the lock still holds.
  if (lockHeld) await promisesOf(lockHeld).forgetFile()
  try {
    const replace = storage.replacesOpenFiles === false ? replaceClosed : replaceOpen
    await replace(file, handle, from, check, goOnWith)
  } finally {
    if (lockHeld) await promisesOf(lockHeld).noteFile().catch(() => {})
  }
}

/** @type {typeof replaceWith} */
async function replaceOpen (file, handle, from, check, goOnWith) {
  const { storage, path: filePath, lockHeld } = file
  const isExclusive = lockHeld?.kind === 'kernel' && !lockHeld.isOfFolder
  const next = await openSized(storage, from, { flags: 'r+', createFolder: false, mustExist: true, isExclusive })
  // No read may be running while the handle changes.
  const release = await excludeReaders(file, 0, Infinity)
  try {
    // Before the rename, the new file needs the old one's lock, owner and mode, and the name must still lead to the old
    // file.
    const outcome = isExclusive && next.handle.tryLock ? await promisesOf(next.handle).tryLock() : 'held'
    if (outcome !== 'held') throw notLocked(filePath, outcome)
    await checkName(file, handle)
    if (storage.copyOwnership) await promisesOf(storage).copyOwnership(filePath, from)
    check()
    await promisesOf(storage).rename(from, filePath)
  } catch (err) {
    await promisesOf(next.handle).close().catch(() => {})
    release()
    throw err
  }
  /** @type {Error | null} */
  const syncError = await promisesOf(storage).syncFolder(path.dirname(filePath)).then(() => null, (err) => err)
  goOnWith(next)
  await promisesOf(handle).close().catch(() => {})
  release()
  if (syncError) throw nameNotSynced(syncError, filePath)
}

/**
 * Where an open file cannot be replaced, and so has no lock of the kernel that closing it would end: both files are
 * closed during the rename. Whatever ends this, one whole file has the name.
 * @type {typeof replaceWith}
 */
async function replaceClosed (file, handle, from, check, goOnWith) {
  const { storage, path: filePath } = file
  const release = await excludeReaders(file, 0, Infinity)
  try {
    await checkName(file, handle)
    if (storage.copyOwnership) await promisesOf(storage).copyOwnership(filePath, from)
    check()
    file.handle = null
    /** @type {Error | null} */
    const failure = await promisesOf(handle).close()
      .then(() => promisesOf(storage).rename(from, filePath))
      .then(() => null, (err) => err)
    const options = { flags: /** @type {const} */ ('r+'), createFolder: false, mustExist: true }
    const opened = await openSized(storage, filePath, options).catch((err) => { throw notReopened(err, filePath) })
    if (failure) {
      file.handle = opened.handle
      throw failure
    }
    goOnWith(opened)
    await promisesOf(storage).syncFolder(path.dirname(filePath)).catch((err) => { throw nameNotSynced(err, filePath) })
  } finally {
    release()
  }
}

/**
 * Continues with the file that has the name now.
 * @type {(file: OpenFile, handle: StorageHandle, goOnWith: GoOnWith) => Promise<void>}
 */
async function reopen (file, handle, goOnWith) {
  const next = await openSized(file.storage, file.path, { flags: 'r', createFolder: false })
  const release = await excludeReaders(file, 0, Infinity)
  goOnWith(next)
  // Nothing was written to the old file.
  await promisesOf(handle).close().catch(() => {})
  release()
}

/**
 * Waits until nobody reads a range.
 * @type {(file: OpenFile, start: number, end: number) => Promise<() => void>} resolves to what lets readers in again
 */
function excludeReaders (file, start, end) {
  return new Promise((resolve) => file.rangeLock.write(start, end, resolve))
}

/**
 * Fails with ERR_FILE_MOVED if the path no longer leads to the open file: bytes written to it would be lost. An
 * unlocked file is not checked; it may have been removed on purpose.
 * @type {(file: OpenFile, handle: StorageHandle) => Promise<void>}
 */
async function checkName ({ lockHeld, path: filePath }, handle) {
  if (!lockHeld || !handle.isAt || handle.isKnownAt?.(filePath)) return
  if (!await promisesOf(handle).isAt(filePath)) throw moved(filePath)
}

exports.checkName = checkName
exports.excludeReaders = excludeReaders
exports.reopen = reopen
exports.replaceWith = replaceWith
