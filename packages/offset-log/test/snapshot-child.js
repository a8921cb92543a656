'use strict'
// Makes a snapshot of the log at the path given, and is killed meanwhile, at the call of the file system that is named.

const { fileStorage } = require('@millrace/block-file')
const { OffsetLog } = require('..')

const [file, copy, when] = process.argv.slice(2)
const kill = () => process.kill(process.pid, 'SIGKILL')

const storage = {
  ...fileStorage,
  open (path, options, cb) {
    fileStorage.open(path, options, (err, handle) => {
      if (!handle || options.flags === 'r' || !path.startsWith(copy)) return cb(err, handle)
      const writing = (name) => (...args) => when === 'write' && args[3] > 0 ? kill() : handle[name](...args)
      cb(null, { ...handle, write: writing('write'), writeSync: writing('writeSync'), close: (cb) => handle.close(when === 'close' ? kill : cb) })
    })
  },
  rename: (from, to, cb) => when === 'rename' && from.startsWith(copy) ? kill() : fileStorage.rename(from, to, cb)
}

const log = OffsetLog(file, { flags: 'r', storage })
log.snapshot(copy, (err) => console.error('not killed', err))
