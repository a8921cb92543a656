'use strict'
// A storage that does what another one does, except where the test says otherwise.

/**
 * @typedef {object} Fault
 * @property {Error} [error]  fail with it instead of calling the real storage
 * @property {number} [length]  transfer at most this many bytes: a short read or write
 * @property {Promise<unknown>} [after]  call the real storage only once this is settled; not for `readSync`
 * @typedef {(call: { name: string, position?: number, length?: number }) => Fault | void} Decide
 */

/**
 * @param {any} inner  a storage, such as block-file's `fileStorage`
 * @param {Decide} decide  asked at every call, by the name of the storage's function
 * @returns {any}  a storage
 */
function faultyStorage (inner, decide) {
  /** @type {(name: string, wrap: (opened: any, decide: Decide) => any) => any} */
  const opening = (name, wrap) => (/** @type {any[]} */ ...[path, options, cb]) => {
    run(decide({ name }), cb, () => inner[name](path, options, (/** @type {any[]} */ ...[err, opened]) => {
      cb(err, opened && wrap(opened, decide))
    }))
  }
  const faulty = { ...inner, open: opening('open', faultyHandle) }
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

/**
 * @param {Fault | void} fault
 * @param {Function} cb
 * @param {() => void} call  of the real storage
 */
function run (fault, cb, call) {
  if (fault?.error) process.nextTick(cb, fault.error)
  else if (fault?.after) fault.after.then(call)
  else call()
}

exports.faultyStorage = faultyStorage
