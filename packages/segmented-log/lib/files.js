'use strict'
// What is done to single files of the folder.

const { isHeld } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')

/** Errors of whoever may not give a file away, and of file systems without owners and modes. */
const NOT_GIVEN = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** @type {(storage: Storage, file: string) => Promise<number>} in bytes */
async function sizeOf (storage, file) {
  const handle = await promisesOf(storage).open(file, { flags: 'r', createFolder: false })
  return promisesOf(handle).size().finally(() => promisesOf(handle).close())
}

/** Makes an empty file, whose name says everything. @type {(storage: Storage, file: string) => Promise<void>} */
async function makeEmpty (storage, file) {
  const handle = await promisesOf(storage).open(file, { flags: 'r+', createFolder: false })
  await promisesOf(handle).close()
}

/** @type {(storage: Storage, file: string) => Promise<void>} */
async function remove (storage, file) {
  await promisesOf(storage).unlink(file).catch(ignoreMissing)
}

/**
 * @type {(storage: Storage, file: string) => Promise<boolean>} false if somebody has it open, and the system removes no
 *   open file: try again later
 */
async function removeUnlessHeld (storage, file) {
  try {
    await remove(storage, file)
    return true
  } catch (err) {
    if (isHeld(storage, err)) return false
    throw err
  }
}

/**
 * Gives a file that takes the place of another one its owner and mode, as far as this process may.
 * @type {(storage: Storage, before: string, file: string) => Promise<void>}
 */
async function keepOwnership (storage, before, file) {
  if (!storage.copyOwnership) return
  await promisesOf(storage).copyOwnership(before, file).catch((err) => { if (!NOT_GIVEN.includes(err.code)) throw err })
}

/** @param {NodeJS.ErrnoException} err */
function ignoreMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.ignoreMissing = ignoreMissing
exports.keepOwnership = keepOwnership
exports.makeEmpty = makeEmpty
exports.remove = remove
exports.removeUnlessHeld = removeUnlessHeld
exports.sizeOf = sizeOf
