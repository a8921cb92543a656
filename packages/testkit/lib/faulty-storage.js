'use strict'
// A storage that passes calls on to another one, and fails where a test wants it to.

/**
 * @typedef {object} Fault
 * @property {Error} [error]  fail with it, without calling the real storage
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {Promise<unknown>} [after]  call the real storage when this settles; not for `readSync`
 * @typedef {(call: { name: string, position?: number, length?: number }) => Fault | void} Decide
 */

/**
 * Makes a storage that passes calls to another one, unless `decide` returns a fault. Calls of a lock are named
 * `lock`, `noteFile`, `forgetFile` and `release`.
 * @param {any} inner  a storage, such as block-file's `fileStorage`
 * @param {Decide} decide  called at every call; `name` is the function's name
 * @returns {any}  a storage
 */
function faultyStorage (inner, decide) {
  /** @type {(name: string, wrap: (opened: any, decide: Decide) => any) => any} */
  const opening = (name, wrap) => (/** @type {any[]} */ ...[path, options, cb]) => {
    run(decide({ name }), cb, () => inner[name](path, options, (/** @type {any[]} */ ...[err, opened]) => {
      cb(err, opened && wrap(opened, decide))
    }))
  }
  // What is opened without waiting would have no faults.
  const { openSync, renameSync, ...rest } = inner
  const faulty = { ...rest, open: opening('open', faultyHandle) }
  if (inner.lock) faulty.lock = opening('lock', faultyLock)
  return faulty
}

/** @param {any} handle @param {Decide} decide */
function faultyHandle (handle, decide) {
  /** @param {string} name */
  const transfer = (name) => (/** @type {any[]} */ ...[buf, offset, length, position, cb]) => {
    const fault = decide({ name, position, length })
    run(fault, cb, () => handle[name](buf, offset, Math.min(length, fault?.length ?? length), position, cb))
  }
  return {
    read: transfer('read'),
    write: transfer('write'),
    readSync (/** @type {any[]} */ ...[buf, offset, length, position]) {
      const fault = decide({ name: 'readSync', position, length }) ?? {}
      if (fault.error) throw fault.error
      return handle.readSync(buf, offset, Math.min(length, fault.length ?? length), position)
    },
    ...simpleCalls(handle, decide, ['truncate', 'sync', 'size', 'close']),
    ...simpleCalls(handle, decide, ['tryLock', 'isAt'].filter((name) => handle[name]))
  }
}

/** @param {any} lock @param {Decide} decide */
function faultyLock (lock, decide) {
  return { kind: lock.kind, ...simpleCalls(lock, decide, ['noteFile', 'forgetFile', 'release']) }
}

/**
 * @param {any} inner  a handle or a lock
 * @param {Decide} decide
 * @param {string[]} names  of functions whose last argument is the callback
 */
function simpleCalls (inner, decide, names) {
  return Object.fromEntries(names.map((name) => [name, (/** @type {any[]} */ ...args) => {
    run(decide({ name }), args[args.length - 1], () => inner[name](...args))
  }]))
}

/** @type {(fault: Fault | void, cb: Function, callInner: () => void) => void} */
function run (fault, cb, call) {
  if (fault?.error) process.nextTick(cb, fault.error)
  else if (fault?.after) fault.after.then(call)
  else call()
}

exports.faultyStorage = faultyStorage
