'use strict'
// An open folder of the file system. Its path may lead to another folder later; this handle never does.

const fs = require('node:fs')
const { call } = require('@millrace/flow')

const { O_RDONLY, O_DIRECTORY = 0 } = fs.constants

/**
 * @typedef {object} FolderHandle
 * @property {string | null} reach  a path that leads to this folder as long as it is open, wherever it is moved. Null
 *   if the system has no such path: then whoever acts on a name proves, before and after, that the path is right
 * @property {(path: string, cb: (err: Error | null, isAt?: boolean) => void) => void} isAt  whether a path leads to
 *   this folder
 * @property {(path: string) => boolean} isAtSync
 * @property {(cb: (err: Error | null) => void) => void} close
 */

/**
 * @param {string} folder
 * @returns {Promise<FolderHandle>}
 * @throws ENOENT, ENOTDIR and other errors of the file system
 */
async function openFolderHandle (folder) {
  // While it is open, no other folder gets its inode. Windows cannot open a folder.
  const fd = process.platform === 'win32' ? null : await call(fs, 'open', folder, O_RDONLY | O_DIRECTORY)
  try {
    const own = await call(fs, fd === null ? 'stat' : 'fstat', fd ?? folder, { bigint: true })
    const isSame = (/** @type {fs.BigIntStats | undefined} */ found) => found?.ino === own.ino && found?.dev === own.dev
    return {
      reach: fd !== null && await canReach(fd, isSame) ? linkOf(fd) : null,
      isAt: (name, cb) => fs.stat(name, { bigint: true }, (err, found) => {
        if (err && err.code !== 'ENOENT' && err.code !== 'ENOTDIR') cb(err)
        else cb(null, isSame(found))
      }),
      isAtSync: (name) => isSame(fs.statSync(name, { bigint: true, throwIfNoEntry: false })),
      close: (cb) => fd === null ? process.nextTick(cb, null) : fs.close(fd, cb)
    }
  } catch (err) {
    if (fd !== null) await call(fs, 'close', fd).catch(() => {})
    throw err
  }
}

/** @param {number} fd */
function linkOf (fd) {
  return `/proc/self/fd/${fd}`
}

/** Whether such links work; null until the first folder is opened. @type {boolean | null} */
let hasLinks = process.platform === 'linux' ? null : false

/**
 * There may be no /proc, or this process may not use it.
 * @type {(fd: number, isSame: (found: fs.BigIntStats) => boolean) => Promise<boolean>}
 */
async function canReach (fd, isSame) {
  if (hasLinks === null) {
    const { permission } = /** @type {{ permission?: { has: (scope: string, path: string) => boolean } }} */ (process)
    const mayWrite = !permission || permission.has('fs.write', `${linkOf(fd)}/a`)
    hasLinks = mayWrite && await call(fs, 'stat', linkOf(fd), { bigint: true }).then(isSame, () => false)
  }
  return hasLinks
}

exports.openFolderHandle = openFolderHandle
