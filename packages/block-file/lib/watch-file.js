'use strict'
// Asks the system to tell when a file changes, and whether it can be relied on to.

const fs = require('node:fs')
const { toCallback } = require('@millrace/flow')
const { nameOfLocal } = require('./lock/file-system')

/**
 * @param {string} path
 * @param {() => void} onEvent  the file may have changed
 * @param {(err: Error | null, watcher?: import('./storage').Watcher) => void} cb
 */
function watchFile (path, onEvent, cb) {
  toCallback(nameOfLocal(path), (_, local) => {
    let watcher
    try {
      watcher = fs.watch(path, { persistent: false }, onEvent)
    } catch (err) {
      // Among others when the system has no watch left to give.
      return cb(/** @type {Error} */ (err))
    }
    const handle = watcher
    // One that breaks later tells nothing any more: then polling does.
    handle.on('error', () => handle.close())
    cb(null, {
      // Where files lie on this machine, every change is announced.
      isTrusted: process.platform === 'win32' || local !== null,
      close: () => handle.close()
    })
  })
}

exports.watchFile = watchFile
