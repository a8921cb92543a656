'use strict'
// A log whose disk says that it has synced it, and has not: what the torture must notice.

const { OffsetLog } = require('@millrace/offset-log')

/**
 * @param {string} path
 * @param {{ storage: any }} options
 */
exports.OffsetLog = (path, { storage, ...options }) => {
  /** @type {(file: string, openOptions: object, cb: (err: Error | null, handle?: any) => void) => void} */
  const open = (file, openOptions, cb) => storage.open(file, openOptions, /** @type {typeof cb} */ (err, handle) => {
    const lie = (/** @type {any} */ cb) => process.nextTick(cb, null)
    cb(err, file === path && handle ? { ...handle, sync: lie } : handle)
  })
  return OffsetLog(path, { ...options, storage: { ...storage, open } })
}
