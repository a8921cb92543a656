'use strict'
// A storage with the rules of Windows, strictly: a file that is open cannot be renamed, replaced or removed; other
// programs, such as virus scanners, get in the way for a few attempts; folders cannot be opened or synced. As on NTFS,
// changes of names and sizes are kept in their order, in a journal that the sync of any file writes out.

const { dirname } = require('node:path')

/** What libuv makes of ERROR_SHARING_VIOLATION and ERROR_ACCESS_DENIED. */
const VIOLATIONS = ['EBUSY', 'EPERM', 'EACCES']
/** One change of a name in so many fails for 1 to 3 attempts. */
const VIOLATION_RARITY = 4
const ATTEMPT_COUNT_MAX = 3

/**
 * @typedef {object} WindowsOptions
 * @property {((limit: number) => number) | null} [random]  decides when others get in the way; null for never
 * @property {(err: Error) => void} [onViolation]  called when a file is in this program's own way
 */

/**
 * Makes a storage that passes calls to another one, under the rules of Windows: an open file cannot be renamed,
 * replaced or removed; if there is a `random`, other programs get in the way for a few attempts (`EPERM`, `EACCES`,
 * `EBUSY`); folders cannot be opened or synced.
 * @param {any} inner  a storage; nobody else has its files open
 * @param {WindowsOptions} [options]
 * @returns {any}  a storage. It does not try again: see `patientStorage` of block-file
 */
function windowsStorage (inner, { random = null, onViolation = () => {} } = {}) {
  /** How often each file is open, by path. @type {Map<string, number>} */
  const opened = new Map()
  /** For how many attempts others have a file open. @type {Map<string, number>} */
  const disturbed = new Map()

  /** @param {string[]} codes @param {string} file */
  const disturb = (codes, file) => {
    if (random === null) return null
    const left = disturbed.get(file) ?? (random(VIOLATION_RARITY) === 0 ? 1 + random(ATTEMPT_COUNT_MAX) : 0)
    disturbed.set(file, left - 1)
    if (left > 0) return violation(codes[random(codes.length)], file, 'another program has it open')
    disturbed.delete(file)
    return null
  }
  /** @param {string[]} files */
  const whyNot = (...files) => {
    const file = files.find((file) => (opened.get(file) ?? 0) > 0)
    if (file === undefined) return disturb(VIOLATIONS, files[files.length - 1])
    const err = violation(random === null ? 'EPERM' : VIOLATIONS[random(VIOLATIONS.length)], file, 'it is open')
    onViolation(err)
    return err
  }
  /** @type {(name: string, count: number) => (...args: any[]) => void} `count`: of the paths */
  const change = (name, count) => (...args) => {
    const err = whyNot(...args.slice(0, count))
    if (err) process.nextTick(args[count], err)
    else inner[name](...args)
  }

  /** @param {string} file @param {object} options @param {any} cb */
  const open = (file, options, cb) => {
    const err = disturb(['EBUSY'], file)
    if (err) return process.nextTick(cb, err)
    // From now on: the file must not be removed before it is open.
    opened.set(file, (opened.get(file) ?? 0) + 1)
    const leave = () => opened.set(file, (opened.get(file) ?? 1) - 1)
    const done = (/** @type {any} */ err, /** @type {any} */ handle) => {
      if (err) leave()
      cb(err, handle && adaptHandle(handle, file, leave))
    }
    inner.open(file, options, done)
  }
  /** @type {(handle: any, file: string, leave: () => void) => any} */
  const adaptHandle = (handle, file, leave) => {
    let isOpen = true
    const folder = dirname(file)
    const { syncSync, truncateSync } = handle
    /** @type {(name: string) => (...args: any[]) => void} */
    const keepNames = (name) => (...args) => inner.syncFolder(folder, (/** @type {any} */ err) => {
      if (err) args[args.length - 1](err)
      else handle[name](...args)
    })
    /** @param {((...args: any[]) => any) | undefined} change */
    const keepNamesNow = (change) => change && inner.syncFolderSync && ((/** @type {any[]} */ ...args) => {
      inner.syncFolderSync(folder)
      return change(...args)
    })
    return {
      ...handle,
      sync: keepNames('sync'),
      truncate: keepNames('truncate'),
      syncSync: keepNamesNow(syncSync),
      truncateSync: keepNamesNow(truncateSync),
      close: (/** @type {any} */ cb) => {
        if (!isOpen) return process.nextTick(cb, violation('EBADF', file, 'it is closed'))
        isOpen = false
        handle.close((/** @type {any} */ err) => {
          leave()
          cb(err)
        })
      }
    }
  }
  const { openFolder, hasKernelLocks, lock, findHolder, openSync, renameSync, ...rest } = inner
  return {
    ...rest,
    replacesOpenFiles: false,
    open,
    rename: change('rename', 2),
    unlink: change('unlink', 1),
    ...(inner.unlinkSync && {
      unlinkSync: (/** @type {string} */ file) => {
        const err = whyNot(file)
        if (err) throw err
        inner.unlinkSync(file)
      }
    }),
    syncFolder: (/** @type {string} */ folder, /** @type {any} */ cb) => process.nextTick(cb, null),
    ...(inner.syncFolderSync && { syncFolderSync: () => {} })
  }
}

/** @type {(code: string, file: string, why: string) => Error} */
function violation (code, file, why) {
  return Object.assign(new Error(`${code}: ${file} is out of reach: ${why}`), { code, path: file })
}

exports.windowsStorage = windowsStorage
