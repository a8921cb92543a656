'use strict'
// A storage that does what another one does, except where the test says otherwise.

/**
 * @typedef {object} Fault
 * @property {Error} [error]  fail with it instead of calling the real storage
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {Promise<unknown>} [after]  call the real storage only once this is settled; not for `readSync` and `open`
 * @typedef {(call: { name: string, position?: number, length?: number }) => Fault | void} Decide
 */

/**
 * @param {any} inner  a storage, such as block-file's `fileStorage`
 * @param {Decide} decide  asked at every call, by the name of the storage's function
 * @returns {any}  a storage
 */
function faultyStorage (inner, decide) {
  const faulty = {
    ...inner,
    open (/** @type {string} */ path, /** @type {object} */ options, /** @type {Function} */ cb) {
      const fault = decide({ name: 'open' })
      if (fault?.error) return process.nextTick(cb, fault.error)
      inner.open(path, options, (/** @type {Error | null} */ err, /** @type {any} */ handle) => {
        cb(err, handle && faultyHandle(handle, decide))
      })
    }
  }
  if (inner.lock) faulty.lock = faultyLock(inner, decide)
  return faulty
}

/**
 * @param {any} inner
 * @param {Decide} decide
 */
function faultyLock (inner, decide) {
  return (/** @type {string} */ path, /** @type {object} */ options, /** @type {Function} */ cb) => {
    const fault = decide({ name: 'lock' })
    if (fault?.error) return process.nextTick(cb, fault.error)
    inner.lock(path, options, (/** @type {Error | null} */ err, /** @type {any} */ lock) => {
      const simple = simpleCalls(lock, decide)
      const names = ['noteFile', 'forgetFile', 'release']
      cb(err, lock && { kind: lock.kind, ...Object.fromEntries(names.map((name) => [name, simple(name)])) })
    })
  }
}

/**
 * @param {any} handle
 * @param {Decide} decide
 */
function faultyHandle (handle, decide) {
  /** @param {string} name */
  const transfer = (name) => (/** @type {any[]} */ ...[buf, offset, length, position, cb]) => {
    const fault = decide({ name, position, length }) ?? {}
    if (fault.error) return process.nextTick(cb, fault.error)
    const run = () => handle[name](buf, offset, Math.min(length, fault.length ?? length), position, cb)
    if (fault.after) fault.after.then(run)
    else run()
  }
  const simple = simpleCalls(handle, decide)
  return {
    read: transfer('read'),
    write: transfer('write'),
    readSync (/** @type {any[]} */ ...[buf, offset, length, position]) {
      const fault = decide({ name: 'readSync', position, length }) ?? {}
      if (fault.error) throw fault.error
      return handle.readSync(buf, offset, Math.min(length, fault.length ?? length), position)
    },
    truncate: simple('truncate'),
    sync: simple('sync'),
    tryLock: handle.tryLock && simple('tryLock'),
    isAt: handle.isAt && simple('isAt'),
    size: simple('size'),
    close: simple('close')
  }
}

/**
 * @param {any} inner  a handle or a lock
 * @param {Decide} decide
 */
function simpleCalls (inner, decide) {
  return (/** @type {string} */ name) => (/** @type {any[]} */ ...args) => {
    const fault = decide({ name }) ?? {}
    if (fault.error) return process.nextTick(args[args.length - 1], fault.error)
    const run = () => inner[name](...args)
    if (fault.after) fault.after.then(run)
    else run()
  }
}

exports.faultyStorage = faultyStorage
