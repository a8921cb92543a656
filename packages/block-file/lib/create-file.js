'use strict'
// Makes a file that has its first bytes from the beginning: they are written aside, synced, and renamed into place.

const path = require('node:path')
const { writeWhole } = require('./whole-io')

/**
 * @typedef {import('./storage').Storage} Storage
 * @typedef {import('./storage').StorageHandle} StorageHandle
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @param {Storage} storage
 * @param {string} filePath  nothing is done when it has any bytes
 * @param {{ createFolder: boolean, initial: () => Buffer }} options
 * @param {Done} cb
 */
function createFile (storage, filePath, { createFolder, initial }, cb) {
  hasBytes(storage, filePath, (err, hasAny) => {
    if (err || hasAny) return cb(err)
    const aside = `${filePath}.new`
    fill(storage, aside, createFolder, initial(), (err) => {
      if (err) return storage.unlink(aside, () => cb(err))
      storage.rename(aside, filePath, (err) => {
        if (err) return cb(err)
        storage.syncFolder(path.dirname(filePath), (err) => cb(err))
      })
    })
  })
}

/**
 * @param {Storage} storage
 * @param {string} filePath
 * @param {(err: Error | null, hasAny?: boolean) => void} cb
 */
function hasBytes (storage, filePath, cb) {
  storage.open(filePath, { flags: 'r', createFolder: false }, (err, handle) => {
    if (err || !handle) return /** @type {any} */ (err)?.code === 'ENOENT' ? cb(null, false) : cb(err)
    handle.size((err, size = 0) => handle.close(() => cb(err, size > 0)))
  })
}

/**
 * @param {Storage} storage
 * @param {string} aside
 * @param {boolean} createFolder
 * @param {Buffer} bytes
 * @param {Done} cb  they are on stable storage
 */
function fill (storage, aside, createFolder, bytes, cb) {
  storage.open(aside, { flags: 'r+', createFolder }, (err, handle) => {
    if (err || !handle) return cb(err)
    inOrder([
      (done) => handle.truncate(0, done),
      (done) => writeWhole(handle, bytes, 0, done),
      (done) => handle.sync(done)
    ], (err) => handle.close((closeErr) => cb(err ?? closeErr)))
  })
}

/**
 * @param {Array<(done: Done) => void>} steps
 * @param {Done} cb
 */
function inOrder ([step, ...others], cb) {
  if (step === undefined) return cb(null)
  step((err) => err ? cb(err) : inOrder(others, cb))
}

exports.createFile = createFile
