'use strict'
// Gives what a command has made its name, durably: a power cut after the command leaves it there.

const fs = require('node:fs')
const path = require('node:path')
const { fileStorage } = require('@millrace/block-file')

/** @type {(from: string, to: string) => void} what is made is on stable storage; both are in one folder */
function renameDurably (from, to) {
  fs.renameSync(from, to)
  fileStorage.syncFolderSync?.(path.dirname(to))
}

exports.renameDurably = renameDurably
