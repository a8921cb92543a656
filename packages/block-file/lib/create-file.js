'use strict'
// Opens a file, or makes one that has its first bytes from the beginning: they are written aside, synced, and renamed
// into place.

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

exports.fill = fill
exports.openOrCreate = openOrCreate
exports.openSized = openSized
