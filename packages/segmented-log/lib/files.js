'use strict'
// What is done to single files of the folder.

const { isHeld } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')

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

/** @param {NodeJS.ErrnoException} err */
function ignoreMissing (err) {
  if (err.code !== 'ENOENT') throw err
}

exports.ignoreMissing = ignoreMissing
exports.makeEmpty = makeEmpty
exports.remove = remove
exports.removeUnlessHeld = removeUnlessHeld
exports.sizeOf = sizeOf
