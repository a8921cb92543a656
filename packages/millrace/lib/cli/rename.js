'use strict'
// What a command makes has another name until it is whole. It gets its own durably: after the command, a power cut
// leaves it there.

const { randomBytes } = require('node:crypto')
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
async function lockAside (target) {
  const remove = async (/** @type {string} */ left) => fs.rmSync(left, { recursive: true, force: true })
  try {
    return await lockTarget(fileStorage, path.resolve(target), remove)
  } catch (/** @type {any} */ err) {
    if (!UNREADABLE.includes(err.code) || !isWritable(path.dirname(target))) throw err
    // Who may write the folder, but not read it, cannot lock what is in it.
    return { path: `${target}.${randomBytes(6).toString('hex')}.part`, release: async () => {} }
  }
}

/** @param {string} folder */
function isWritable (folder) {
  try {
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK)
    return true
  } catch {
    return false
  }
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
