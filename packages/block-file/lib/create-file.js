'use strict'
// Opens a file, or makes one that has its first bytes from the beginning: they are written aside, synced, and renamed
// into place. Makes the folders that are missing.

const fs = require('node:fs')
const path = require('node:path')
const { writeWhole } = require('./whole-io')

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @typedef {object} Wish
 * @property {'r' | 'r+'} flags
 * @property {boolean} createFolder
 * @property {(() => Buffer) | null} initial  makes the bytes of a file that is missing or empty
 * @typedef {(err: Error | null, handle?: StorageHandle, size?: number) => void} Opened
 */

/**
 * @param {Storage} storage
 * @param {string} filePath
 * @param {Wish} wish
 * @param {Opened} cb
 */
function openOrCreate (storage, filePath, { flags, createFolder, initial }, cb) {
  if (flags === 'r' || initial === null) return openSized(storage, filePath, { flags, createFolder }, cb)
  const existing = { flags, createFolder: false, mustExist: true }
  openSized(storage, filePath, existing, (err, handle, size) => {
    if (err && /** @type {any} */ (err).code !== 'ENOENT') return cb(err)
    if (handle && size !== 0) return cb(null, handle, size)
    const isThere = handle !== undefined
    const create = () => createFile(storage, filePath, { createFolder, initial, isThere }, (err) => {
      if (err) cb(err)
      else openSized(storage, filePath, existing, cb)
    })
    if (handle) handle.close(create)
    else create()
  })
}

/**
 * @param {Storage} storage
 * @param {string} filePath
 * @param {import('./storage').OpenOptions} options
 * @param {Opened} cb
 */
function openSized (storage, filePath, options, cb) {
  storage.open(filePath, options, (err, handle) => {
    if (err || !handle) return cb(err)
    handle.size((err, size) => {
      if (err) handle.close(() => cb(err))
      else cb(null, handle, size)
    })
  })
}

/**
 * @param {Storage} storage
 * @param {string} filePath  an empty file there is replaced
 * @param {{ createFolder: boolean, initial: () => Buffer, isThere: boolean }} options
 * @param {Done} cb
 */
function createFile (storage, filePath, { createFolder, initial, isThere }, cb) {
  const aside = `${filePath}.new`
  /** @type {Buffer} */
  let bytes
  try {
    bytes = initial()
  } catch (err) {
    return cb(/** @type {Error} */ (err))
  }
  inOrder([
    (done) => writeAside(storage, aside, createFolder, bytes, done),
    (done) => isThere && storage.copyOwnership ? storage.copyOwnership(filePath, aside, done) : done(null)
  ], (err) => {
    if (err) return storage.unlink(aside, () => cb(err))
    storage.rename(aside, filePath, (err) => {
      if (err) return cb(err)
      storage.syncFolder(path.dirname(filePath), (err) => cb(err))
    })
  })
}

/**
 * @param {Storage} storage
 * @param {string} aside
 * @param {boolean} createFolder
 * @param {Buffer} bytes
 * @param {Done} cb  they are on stable storage
 */
function writeAside (storage, aside, createFolder, bytes, cb) {
  storage.open(aside, { flags: 'r+', createFolder }, (err, handle) => {
    if (err || !handle) return cb(err)
    fill(handle, bytes, (err) => handle.close((closeErr) => cb(err ?? closeErr)))
  })
}

/**
 * @param {StorageHandle} handle  what is in the file goes
 * @param {Buffer} bytes
 * @param {Done} cb  they are on stable storage
 */
function fill (handle, bytes, cb) {
  inOrder([
    (done) => handle.truncate(0, done),
    (done) => bytes.length === 0 ? done(null) : writeWhole(handle, bytes, 0, done),
    (done) => handle.sync(done)
  ], cb)
}

/**
 * @param {Array<(done: Done) => void>} steps
 * @param {Done} cb
 */
function inOrder ([step, ...others], cb) {
  if (step === undefined) return cb(null)
  step((err) => err ? cb(err) : inOrder(others, cb))
}

// Folders: makes them, and puts the names in them on stable storage.

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

exports.fill = fill
exports.openOrCreate = openOrCreate
exports.openSized = openSized
exports.makeFolder = makeFolder
exports.makeFolderSync = makeFolderSync
exports.syncFolder = syncFolder
