// @ts-nocheck
'use strict'
// A log whose disk says that it has synced it, and has not: what the torture must notice.

const { OffsetLog } = require('@millrace/offset-log')

/**
 * @param {string} path
 * @param {{ storage: any }} options
 */
exports.OffsetLog = (path, { storage, ...options }) => {
  const open = (file, openOptions, cb) => storage.open(file, openOptions, (err, handle) => {
    cb(err, file === path && handle ? { ...handle, sync: (cb) => process.nextTick(cb, null) } : handle)
  })
  return OffsetLog(path, { ...options, storage: { ...storage, open } })
}
