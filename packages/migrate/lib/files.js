'use strict'
// Names in a folder: whether something has one, and taking it away.

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 */

/**
 * @param {Storage} storage
 * @param {string} path
 * @param {(err: Error | null, isThere?: boolean) => void} cb
 */
function exists (storage, path, cb) {
  storage.open(path, { flags: 'r', createFolder: false }, (err, handle) => {
    if (handle) return handle.close((err) => cb(err, true))
    const { code = '' } = /** @type {any} */ (err)
    if (code === 'ENOENT') cb(null, false)
    // A folder, or a device, has the name as well.
    else if (code === 'EISDIR' || code === 'ERR_INVALID_ARGUMENT') cb(null, true)
    else cb(err)
  })
}

/**
 * @param {Storage} storage
 * @param {string} path  of a file that need not be there
 * @param {(err: Error | null) => void} cb
 */
function remove (storage, path, cb) {
  storage.unlink(path, (err) => cb(/** @type {any} */ (err)?.code === 'ENOENT' ? null : err))
}

exports.exists = exists
exports.remove = remove
