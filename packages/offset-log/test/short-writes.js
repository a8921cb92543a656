// @ts-nocheck
'use strict'
// The real storage with short writes, as the system may always make them: half a commit can then be on the disk when a
// process is killed, or when a reader looks.

/** @type {(storage: any, sizeMax: number) => any}  sizeMax: bytes that one call may write */
function shortWrites (storage, sizeMax) {
  const shorten = (handle) => ({
    ...handle,
    write: (buf, offset, length, position, cb) => handle.write(buf, offset, Math.min(length, sizeMax), position, cb),
    writeSync: (buf, offset, length, position) => handle.writeSync(buf, offset, Math.min(length, sizeMax), position)
  })
  const open = (path, options, cb) => {
    storage.open(path, options, (err, handle) => err ? cb(err) : cb(null, shorten(handle)))
  }
  return { ...storage, open }
}

exports.shortWrites = shortWrites
