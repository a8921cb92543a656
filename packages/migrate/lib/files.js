'use strict'
// Files by their names, and closing what was opened.

const { call } = require('@millrace/flow')

/** @typedef {import('@millrace/block-file').Storage} Storage */

/**
 * Uses something, and closes it even if that fails. If both fail, it throws the first failure.
 * @template T
 * @param {object} opened  with a method `close` that takes a callback
 * @param {() => Promise<T>} use
 * @returns {Promise<T>}
 */
async function closing (opened, use) {
  const closed = () => call(opened, 'close')
  const result = await use().catch((err) => closed().then(() => { throw err }, () => { throw err }))
  await closed()
  return result
}

/**
 * @param {Storage} storage
 * @param {string} path
 * @returns {Promise<boolean>}  whether something has that name
 */
async function exists (storage, path) {
  let handle
  try {
    handle = await call(storage, 'open', path, { flags: 'r', createFolder: false })
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return false
    // A folder, or a device, has the name as well.
    if (err.code === 'EISDIR' || err.code === 'ERR_INVALID_ARGUMENT') return true
    throw err
  }
  await call(handle, 'close')
  return true
}

/**
 * @param {Storage} storage
 * @param {string} path  of a file that need not be there
 */
async function remove (storage, path) {
  try {
    await call(storage, 'unlink', path)
  } catch (/** @type {any} */ err) {
    if (err.code !== 'ENOENT') throw err
  }
}

exports.closing = closing
exports.exists = exists
exports.remove = remove
