'use strict'
// Gives what a command has made its name, durably: a power cut after the command leaves it there.

const fs = require('node:fs')
const path = require('node:path')
const { fileStorage } = require('@millrace/block-file')

const UNREADABLE = ['EACCES', 'EPERM']

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

exports.renameDurably = renameDurably
