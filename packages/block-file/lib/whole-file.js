'use strict'
// Small files that are read and replaced as a whole: a crash leaves the old one or the new one.

const path = require('node:path')
const { promisesOf, toPromise } = require('@millrace/flow')
const { readWhole, writeWhole } = require('./whole-io')

/** @typedef {import('./storage').Storage} Storage */

/**
 * Reads all bytes of a file.
 * @param {Storage} storage
 * @param {string} file
 * @returns {Promise<Buffer | null>}  null if there is no such file
 */
async function readFile (storage, file) {
  const handle = await promisesOf(storage).open(file, { flags: 'r', createFolder: false }).catch(orMissing)
  if (handle === null) return null
  try {
    const bytes = Buffer.alloc(await promisesOf(handle).size())
    const count = await toPromise((cb) => readWhole(handle, bytes, 0, cb))
    return bytes.subarray(0, count)
  } finally {
    await promisesOf(handle).close().catch(() => {})
  }
}

/**
 * Replaces a file, or makes it: the bytes are written to `<file>.new`, synced, and get the name; then the folder is
 * synced. One call at a time for each file.
 * @param {Storage} storage
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Promise<void>}
 */
async function replaceFile (storage, file, bytes) {
  const next = `${file}.new`
  const handle = await promisesOf(storage).open(next, { flags: 'r+', createFolder: true })
  try {
    // One that an earlier process has begun may be there.
    await promisesOf(handle).truncate(0)
    await toPromise((cb) => writeWhole(handle, bytes, 0, cb))
    await promisesOf(handle).sync()
  } finally {
    await promisesOf(handle).close()
  }
  await promisesOf(storage).rename(next, file)
  await promisesOf(storage).syncFolder(path.dirname(file))
}

/** @param {any} err @returns {null} */
function orMissing (err) {
  if (err.code === 'ENOENT') return null
  throw err
}

exports.readFile = readFile
exports.replaceFile = replaceFile
