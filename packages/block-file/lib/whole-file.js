'use strict'
// Small files that are read, replaced and removed as a whole: a crash leaves the old one or the new one. A line of text
// can say whether their bytes are what was written.

const path = require('node:path')
const { misuse, reasonOf } = require('@millrace/errors')
const { promisesOf, toPromise } = require('@millrace/flow')
const { readWhole, writeWhole } = require('./whole-io')

/** Errors of whoever may not give a file away, and of file systems without owners and modes. */
const NOT_GIVEN = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Of a checksum in hex. */
const CHECKSUM_SIZE = 8

/** @typedef {import('./storage').Storage} Storage */

/** Of a file or folder that is not there, or cannot be, as its name is too long. */
const MISSING = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']
/** Of the removal of a folder as if it were a file, on Linux and elsewhere. */
const OF_FOLDER = ['EISDIR', 'EPERM']

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
 * Replaces a file, which keeps its owner and mode, or makes it: the bytes are written to `<file>.new`, synced, and get
 * the name; then the folder is synced. One call at a time for each file.
 * @param {Storage} storage
 * @param {string} file
 * @param {Buffer} bytes
 * @returns {Promise<void>}
 */
async function replaceFile (storage, file, bytes) {
  const next = `${file}.new`
  try {
    const handle = await promisesOf(storage).open(next, { flags: 'r+', createFolder: true })
    try {
      // One that an earlier process has begun may be there.
      await promisesOf(handle).truncate(0)
      await toPromise((cb) => writeWhole(handle, bytes, 0, cb))
      await keepOwnership(storage, file, next).catch(unlessMissing)
      await promisesOf(handle).sync()
    } finally {
      await promisesOf(handle).close()
    }
    await promisesOf(storage).rename(next, file)
  } catch (err) {
    // On a full disk it takes the room that others need.
    await promisesOf(storage).unlink(next).catch(() => {})
    throw err
  }
  await promisesOf(storage).syncFolder(path.dirname(file))
}

/**
 * Gives a file that takes the place of another one its owner and mode, as far as this process may.
 * @param {Storage} storage
 * @param {string} before
 * @param {string} file
 * @returns {Promise<void>}
 */
async function keepOwnership (storage, before, file) {
  if (!storage.copyOwnership) return
  await promisesOf(storage).copyOwnership(before, file).catch((err) => { if (!NOT_GIVEN.includes(err.code)) throw err })
}

/**
 * Bytes that show damage: `<magic> <crc32 of the body, in hex> <body>`.
 * @type {(magic: string, body: Uint8Array) => Buffer}
 */
function seal (magic, body) {
  return Buffer.concat([Buffer.from(`${magic} ${checksum(body)} `), body])
}

/**
 * The body of what `seal` gave; null if it is another one, or of another magic.
 * @type {(magic: string, bytes: Buffer) => Buffer | null}
 */
function unseal (magic, bytes) {
  const begin = magic.length + CHECKSUM_SIZE + 2
  const body = bytes.subarray(begin)
  return bytes.toString('latin1', 0, begin) === `${magic} ${checksum(body)} ` ? body : null
}

/** @param {Uint8Array} body */
function checksum (body) {
  // Late: to load zlib takes milliseconds.
  return require('node:zlib').crc32(body).toString(16).padStart(CHECKSUM_SIZE, '0')
}

/**
 * Lists the names in a folder.
 * @param {Storage} storage
 * @param {string} folder
 * @returns {Promise<string[]>}  none if there is no such folder, or the storage cannot list one
 */
async function listFiles (storage, folder) {
  if (storage === null || typeof storage !== 'object') throw misuse(`expected a storage, got ${reasonOf(storage)}`)
  if (storage.listFolder === undefined) return []
  return await promisesOf(storage).listFolder(folder).catch(unlessMissing) ?? []
}

/**
 * Removes files of a folder; then the folder is synced, if one was there. What is itself a folder stays.
 * @param {Storage} storage
 * @param {string} folder
 * @param {(name: string) => boolean} isGone  whether this one is removed
 * @returns {Promise<number>}  how many there were; 0 if there is no such folder, or the storage cannot list one
 */
async function removeFiles (storage, folder, isGone) {
  const names = (await listFiles(storage, folder)).filter(isGone)
  const { unlink, syncFolder } = promisesOf(storage)
  let count = 0
  for (const name of names) {
    const file = path.join(folder, name)
    try {
      await unlink(file)
    } catch (/** @type {any} */ err) {
      if (OF_FOLDER.includes(err.code) && await isFolder(storage, file)) continue
      // Another process may remove the same files.
      unlessMissing(err)
    }
    count++
  }
  if (count > 0) await syncFolder(folder)
  return count
}

/** @type {(storage: Storage, file: string) => Promise<boolean>} */
async function isFolder (storage, file) {
  return await promisesOf(storage).listFolder?.(file).then(() => true, () => false) ?? false
}

/** @param {any} err */
function unlessMissing (err) {
  if (!MISSING.includes(err.code)) throw err
}

/** @param {any} err @returns {null} */
function orMissing (err) {
  if (err.code === 'ENOENT') return null
  throw err
}

exports.keepOwnership = keepOwnership
exports.listFiles = listFiles
exports.readFile = readFile
exports.removeFiles = removeFiles
exports.replaceFile = replaceFile
exports.seal = seal
exports.unseal = unseal
