'use strict'
// The file system as it is where the kernel has no lock for files: the record beside a file is its lock.

const { fileStorage } = require('..')

const { hasKernelLocks, findHolder, ...others } = fileStorage

exports.recordStorage = {
  ...others,
  /** @type {(path: string, options: any, cb: (err: Error | null, handle?: any) => void) => void} */
  open (path, options, cb) {
    fileStorage.open(path, { ...options, isExclusive: false }, (err, handle) => {
      if (err) return cb(err)
      const { tryLock, ...rest } = /** @type {any} */ (handle)
      cb(null, rest)
    })
  }
}
