'use strict'
// Asks the system to tell when a file changes, and whether it can be relied on to.

const fs = require('node:fs')

// Where files lie on this machine, every change is announced. What they are called is in statfs(2).
const LOCAL_TYPES = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0xf2f52010, // f2fs
  0x2fc12fc1, // zfs
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs
  0x1a, // apfs
  0x11 // hfs
])

/**
 * @param {string} path
 * @param {() => void} onEvent  the file may have changed
 * @param {(err: Error | null, watcher?: import('./storage').Watcher) => void} cb
 */
function watchFile (path, onEvent, cb) {
  fs.statfs(path, (err, stats) => {
    if (err) return cb(err)
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
      isTrusted: process.platform === 'win32' || LOCAL_TYPES.has(stats.type),
      ref: () => { handle.ref() },
      unref: () => { handle.unref() },
      close: () => handle.close()
    })
  })
}

exports.watchFile = watchFile
