'use strict'
// Makes a folder and its missing parents, and puts their names on stable storage. Node.js does the first with the
// option `recursive`, but on file systems where nobody can make a folder, such as /proc, that never ends.

const fs = require('node:fs')
const path = require('node:path')
const { call } = require('@millrace/flow')

/** @param {string} folder */
async function makeFolder (folder) {
  for (const made of await makeMissing(path.resolve(folder))) await syncFolder(path.dirname(made))
}

/** @param {string} folder */
function makeFolderSync (folder) {
  for (const made of makeMissingSync(path.resolve(folder))) syncFolderSync(path.dirname(made))
}

/**
 * Each folder is tried twice at most: again once its parent is there.
 * @param {string} folder
 * @returns {Promise<string[]>}  what was made, parents first
 */
async function makeMissing (folder) {
  if (await isFolder(folder)) return []
  const parent = path.dirname(folder)
  /** @type {string[]} */
  let made = []
  try {
    await call(fs, 'mkdir', folder).catch(async (err) => {
      if (err.code !== 'ENOENT' || parent === folder) throw err
      made = await makeMissing(parent)
      await call(fs, 'mkdir', folder)
    })
    return [...made, folder]
  } catch (err) {
    // Another process may have made it.
    if (await isFolder(folder)) return made
    throw err
  }
}

/** The same without waiting. @param {string} folder  @returns {string[]} */
function makeMissingSync (folder) {
  if (isFolderSync(folder)) return []
  const parent = path.dirname(folder)
  /** @type {string[]} */
  let made = []
  try {
    try {
      fs.mkdirSync(folder)
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ENOENT' || parent === folder) throw err
      made = makeMissingSync(parent)
      fs.mkdirSync(folder)
    }
    return [...made, folder]
  } catch (err) {
    if (isFolderSync(folder)) return made
    throw err
  }
}

/** @param {string} name */
function isFolder (name) {
  return call(fs, 'stat', name).then((stat) => stat.isDirectory(), () => false)
}

/** @param {string} name */
function isFolderSync (name) {
  try {
    return fs.statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    return false
  }
}

/** @param {string} folder */
async function syncFolder (folder) {
  if (process.platform === 'win32') return
  const fd = await call(fs, 'open', folder, fs.constants.O_RDONLY)
  try {
    await call(fs, 'fsync', fd)
  } finally {
    await call(fs, 'close', fd)
  }
}

/** @param {string} folder */
function syncFolderSync (folder) {
  if (process.platform === 'win32') return
  const fd = fs.openSync(folder, fs.constants.O_RDONLY)
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

exports.makeFolder = makeFolder
exports.makeFolderSync = makeFolderSync
exports.syncFolder = syncFolder
exports.syncFolderSync = syncFolderSync
