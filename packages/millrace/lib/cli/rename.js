'use strict'
// What a command makes has another name until it is whole. It gets its own durably: after the command, a power cut
// leaves it there.

const fs = require('node:fs')
const path = require('node:path')
const { fileStorage } = require('@millrace/block-file')
const { lockTarget } = require('@millrace/offset-log/copies')

const UNREADABLE = ['EACCES', 'EPERM']

/**
 * Where a file or a folder is made. What a killed command left there is removed.
 * @param {string} target
 * @returns {Promise<{ path: string, release: () => Promise<void> }>}
 * @throws EEXIST if it is being made already
 */
function lockAside (target) {
  const remove = async (/** @type {string} */ left) => fs.rmSync(left, { recursive: true, force: true })
  return lockTarget(fileStorage, path.resolve(target), remove)
}

/** @type {(from: string, to: string) => void} what is made is on stable storage; both are in one folder */
function renameDurably (from, to) {
  fs.renameSync(from, to)
  try {
    fileStorage.syncFolderSync?.(path.dirname(to))
  } catch (/** @type {any} */ err) {
    if (!UNREADABLE.includes(err.code)) throw err
    // Who may write the folder, but not read it, cannot sync it. Common file systems sync a name with what has it.
    fileStorage.syncFolderSync?.(to)
  }
}

exports.lockAside = lockAside
exports.renameDurably = renameDurably
