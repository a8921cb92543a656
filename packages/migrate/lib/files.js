'use strict'
// Finds and removes files by name, and closes what was opened.

const { promisesOf } = require('@millrace/flow')

/** @typedef {import('@millrace/block-file').Storage} Storage */

/**
 * Uses something and then closes it, also after a failure. If both fail, it throws the first failure.
 * @template T
 * @param {{ close: (cb: (err: Error | null) => void) => void }} opened
 * @param {() => Promise<T>} use
 * @returns {Promise<T>}
 */
async function closing (opened, use) {
  const closed = () => promisesOf(opened).close()
  const result = await use().catch((err) => closed().then(() => { throw err }, () => { throw err }))
  await closed()
  return result
}

/** Whether anything has that name. @type {(storage: Storage, path: string) => Promise<boolean>} */
async function exists (storage, path) {
  let handle
  try {
    handle = await promisesOf(storage).open(path, { flags: 'r', createFolder: false })
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return false
    // A folder or a device has the name too.
    if (err.code === 'EISDIR' || err.code === 'ERR_INVALID_ARGUMENT') return true
    throw err
  }
  await promisesOf(handle).close()
  return true
}

/** The file need not exist. @type {(storage: Storage, path: string) => Promise<void>} */
async function remove (storage, path) {
  try {
    await promisesOf(storage).unlink(path)
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ENOENT') throw err
  }
}

exports.closing = closing
exports.exists = exists
exports.remove = remove
