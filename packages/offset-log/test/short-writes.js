'use strict'
// The real storage with short writes, as the system may always make them: half a commit can then be on the disk when a
// process is killed, or when a reader looks.

/** @type {(storage: any, sizeMax: number) => any}  sizeMax: bytes that one call may write */
function shortWrites (storage, sizeMax) {
  /** @type {(handle: any) => any} */
  const shorten = (handle) => ({
    ...handle,
    /** @type {(buf: Buffer, offset: number, length: number, position: number, cb: Function) => void} */
    write: (buf, offset, length, position, cb) => handle.write(buf, offset, Math.min(length, sizeMax), position, cb),
    /** @type {(buf: Buffer, offset: number, length: number, position: number) => number} */
    writeSync: (buf, offset, length, position) => handle.writeSync(buf, offset, Math.min(length, sizeMax), position)
  })
  /** @type {(path: string, options: object, cb: (err: Error | null, handle?: any) => void) => void} */
  const open = (path, options, cb) => {
    storage.open(path, options, /** @type {typeof cb} */ (err, handle) => err ? cb(err) : cb(null, shorten(handle)))
  }
  return { ...storage, open }
}

exports.shortWrites = shortWrites
