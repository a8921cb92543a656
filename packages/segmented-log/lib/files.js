'use strict'
// What is done to single files of the folder.

const { callbackify } = require('node:util')
const { isHeld, withCalls } = require('@millrace/block-file')
const { promisesOf } = require('@millrace/flow')

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** Too many files are open, in the process or in the system. */
const TOO_MANY = ['EMFILE', 'ENFILE']

/**
 * @typedef {object} Room  for one more open file
 * @property {(count: number) => Promise<boolean>} make  for the `count`th time, from 0 on; false if there is none
 */

/**
 * If too many files are open, makes room, and opens the file after all. A call that may not wait fails, and its next
 * try finds the room.
 * @type {(storage: Storage, room: Room) => Storage}
 */
function withRoom (storage, room) {
  const { openSync } = storage
  const open = async (/** @type {string} */ file, /** @type {any} */ options) => {
    for (let count = 0; ; count++) {
      try {
        return await promisesOf(storage).open(file, options)
      } catch (/** @type {any} */ err) {
        if (!TOO_MANY.includes(err.code) || !await room.make(count)) throw err
      }
    }
  }
  /** @type {typeof openSync} */
  const openNow = (...parameters) => {
    try {
      return /** @type {NonNullable<typeof openSync>} */ (openSync).call(storage, ...parameters)
    } catch (/** @type {any} */ err) {
      if (TOO_MANY.includes(err.code)) room.make(0).catch(() => {})
      throw err
    }
  }
  return withCalls(storage, { open: callbackify(open), openSync: openSync && openNow })
}

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
exports.withRoom = withRoom
