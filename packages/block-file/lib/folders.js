'use strict'
// Folders: makes them, and puts the names in them on stable storage.

const fs = require('node:fs')
const path = require('node:path')

/** @typedef {(err: Error | null) => void} Done */

/**
 * Makes a folder and those above it that are missing.
 * @param {string} folder
 * @param {Done} cb  their names are on stable storage
 */
function makeFolder (folder, cb) {
  const last = path.resolve(folder)
  fs.mkdir(last, { recursive: true }, (err, firstCreated) => {
    if (err) return cb(err)
    const created = firstCreated === undefined ? [] : foldersBetween(path.resolve(firstCreated), last)
    syncFolders(created.map((name) => path.dirname(name)), cb)
  })
}

/**
 * The same at once, for those who put files into it before the log is open, as flume's views do.
 * @param {string} folder
 * @throws what the file system says
 */
function makeFolderSync (folder) {
  const last = path.resolve(folder)
  const firstCreated = fs.mkdirSync(last, { recursive: true })
  if (firstCreated === undefined || process.platform === 'win32') return
  for (const created of foldersBetween(path.resolve(firstCreated), last)) {
    const fd = fs.openSync(path.dirname(created), fs.constants.O_RDONLY)
    try {
      fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
  }
}

/**
 * @param {string} first
 * @param {string} last  below the first, or the same
 * @returns {string[]}
 */
function foldersBetween (first, last) {
  const folders = [last]
  while (folders[0] !== first && path.dirname(folders[0]) !== folders[0]) folders.unshift(path.dirname(folders[0]))
  return folders
}

/**
 * @param {string[]} folders
 * @param {Done} cb
 */
function syncFolders ([folder, ...others], cb) {
  if (folder === undefined) return cb(null)
  syncFolder(folder, (err) => err ? cb(err) : syncFolders(others, cb))
}

/**
 * @param {string} folder
 * @param {Done} cb
 */
function syncFolder (folder, cb) {
  if (process.platform === 'win32') return process.nextTick(cb, null)
  fs.open(folder, fs.constants.O_RDONLY, (err, fd) => {
    if (err) return cb(err)
    fs.fsync(fd, (err) => fs.close(fd, (closeErr) => cb(err ?? closeErr ?? null)))
  })
}

exports.makeFolder = makeFolder
exports.makeFolderSync = makeFolderSync
exports.syncFolder = syncFolder
