// @ts-nocheck
'use strict'
// The file system as it is where the kernel has no lock for files: the record beside a file is its lock.

const { fileStorage } = require('..')

const { hasKernelLocks, findHolder, ...others } = fileStorage

exports.recordStorage = {
  ...others,
  open (path, options, cb) {
    fileStorage.open(path, { ...options, isExclusive: false }, (err, handle) => {
      if (err) return cb(err)
      const { tryLock, ...rest } = handle
      cb(null, rest)
    })
  }
}
