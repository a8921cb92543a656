'use strict'
// The storage to open a log with that has a sidecar: it opens both files, and hands out one handle. Other files are
// opened as they are.

const { LogError } = require('@millrace/errors')
const { loadSidecar, readState } = require('./load-sidecar')
const { refusal } = require('./refusal')

/**
 * @typedef {import('@millrace/block-file/lib/storage').Storage} Storage
 * @typedef {import('@millrace/block-file/lib/storage').StorageHandle} StorageHandle
 * @typedef {import('@millrace/block-file/lib/storage').StorageLock} StorageLock
 * @typedef {import('@millrace/block-file/lib/storage').OpenOptions} OpenOptions
 * @typedef {import('./sidecar').Sidecar} Sidecar
 * @typedef {(err: Error | null) => void} Done
 */

/**
 * @template T
 * @typedef {import('@millrace/block-file/lib/storage').Callback<T>} Callback
 */

/**
 * @param {Sidecar} sidecar
 * @param {string} path  of the log, as it was given
 * @returns {Storage}
 */
function createStorage (sidecar, path) {
  const { inner } = sidecar
  const { realPath, lock } = inner
  /** @type {Storage} */
  const storage = {
    ...inner,
    // One handle serves two files: the kernel could lock but one of them.
    hasKernelLocks: undefined,
    open: (file, options, cb) => {
      if (file === path || file === sidecar.path) openLog(sidecar, file, options, cb)
      else inner.open(file, options, cb)
    }
  }
  if (realPath) {
    storage.realPath = (file, cb) => realPath(file, (err, found) => {
      if (found !== undefined) sidecar.path = found
      cb(err, found)
    })
  }
  // A folder is only made for a log that is.
  if (!sidecar.mayCreate) delete storage.makeFolderSync
  if (lock && !sidecar.mayCreate) {
    storage.lock = (file, options, cb) => lock(file, { createFolder: false }, (err, held) => {
      if (err) cb(explainMissing(sidecar, err))
      else cb(null, held)
    })
  }
  return storage
}

/**
 * @param {Sidecar} sidecar
 * @param {string} file
 * @param {OpenOptions} options
 * @param {Callback<StorageHandle>} cb
 */
function openLog (sidecar, file, options, cb) {
  const { inner, mayCreate } = sidecar
  sidecar.isReader = options.flags === 'r'
  findPath(sidecar, file, () => {
    inner.open(file, mayCreate ? options : { ...options, mustExist: true }, (err, log) => {
      if (err || !log) return cb(err && explainMissing(sidecar, err))
      sidecar.log = log
      openSidecar(sidecar, (err) => {
        if (err) closeAll(sidecar, () => cb(err))
        else cb(null, createHandle(sidecar))
      })
    })
  })
}

/**
 * Who only reads opens the log by the name that was given, which may be a link.
 * @param {Sidecar} sidecar
 * @param {string} file
 * @param {() => void} cb  if the file is not there, opening it will say so
 */
function findPath (sidecar, file, cb) {
  const { realPath } = sidecar.inner
  if (!sidecar.isReader || !realPath) return cb()
  realPath(file, (err, path) => {
    if (!err && path !== undefined) sidecar.path = path
    cb()
  })
}

/**
 * @param {Sidecar} sidecar
 * @param {Error} err
 * @returns {Error}
 */
function explainMissing (sidecar, err) {
  const isRefused = !sidecar.mayCreate && !sidecar.isReader && /** @type {any} */ (err).code === 'ENOENT'
  return isRefused ? refusal(sidecar.path) : err
}

/**
 * @param {Sidecar} sidecar
 * @param {Done} cb
 */
function openSidecar (sidecar, cb) {
  const { log, inner, isReader, sidecarPath } = sidecar
  const fail = (/** @type {Error | null} */ err) => cb(err && unreadable(sidecarPath, err))
  readState(log, (err, logState) => {
    if (err || !logState) return cb(err)
    sidecar.logState = logState
    inner.open(sidecarPath, { flags: isReader ? 'r' : 'r+', createFolder: false, mustExist: true }, (err, handle) => {
      if (err && /** @type {any} */ (err).code !== 'ENOENT') return fail(err)
      if (!handle) return sidecar.loaded(null, null, cb)
      sidecar.handle = handle
      loadSidecar(handle, (err, parsed = null) => {
        if (err) return fail(err)
        readState(handle, (err, state) => err || !state ? fail(err) : sidecar.loaded(parsed, state, cb))
      })
    })
  })
}

/**
 * By its name: a writer may have made another one since.
 * @param {Sidecar} sidecar  that was opened before
 * @param {Done} cb
 */
function reopenSidecar (sidecar, cb) {
  const { handle } = sidecar
  sidecar.handle = null
  if (!handle) return openSidecar(sidecar, cb)
  handle.close((err) => err ? cb(err) : openSidecar(sidecar, cb))
}

/**
 * @param {Sidecar} sidecar
 * @returns {StorageHandle}
 */
function createHandle (sidecar) {
  const { log } = sidecar
  const { writeSync, syncSync } = log
  /** @type {StorageHandle} */
  const handle = {
    ...log,
    read: (...call) => sidecar.reads.read(...call),
    readSync: (...call) => sidecar.reads.readSync(...call),
    write: (...call) => (sidecar.changes ?? log).write(...call),
    truncate: (...call) => (sidecar.changes ?? log).truncate(...call),
    sync: (cb) => (sidecar.changes ?? log).sync(cb),
    close: (cb) => close(sidecar, cb)
  }
  const { stat } = log
  if (stat) {
    handle.stat = (cb) => stat((err, state) => {
      if (state) sidecar.noticeState(state)
      cb(err, state)
    })
  }
  delete handle.writeSync
  delete handle.syncSync
  // What is written at once has its sums written at once.
  if (!writeSync || !syncSync) return handle
  handle.writeSync = (...call) => sidecar.changes ? sidecar.changes.writeSync(writeSync, ...call) : writeSync(...call)
  handle.syncSync = () => sidecar.changes ? sidecar.changes.syncSync(syncSync) : syncSync()
  return handle
}

/**
 * @param {Sidecar} sidecar
 * @param {Done} cb
 */
function close (sidecar, cb) {
  if (!sidecar.changes) return closeAll(sidecar, cb)
  sidecar.changes.finish((err) => closeAll(sidecar, (closeErr) => cb(err ?? closeErr)))
}

/**
 * @param {Sidecar} sidecar
 * @param {Done} cb
 */
function closeAll ({ log, handle }, cb) {
  log.close((err) => {
    if (handle) handle.close((sidecarErr) => cb(err ?? sidecarErr ?? null))
    else cb(err)
  })
}

/**
 * @param {string} path
 * @param {Error} cause
 */
function unreadable (path, cause) {
  const code = /** @type {any} */ (cause).code ?? 'EIO'
  return new LogError(code, `open: the sidecar ${path} could not be read (${cause.message}); check it. Once it is ` +
    'removed it is made anew', { cause, path })
}

exports.createStorage = createStorage
exports.reopenSidecar = reopenSidecar
