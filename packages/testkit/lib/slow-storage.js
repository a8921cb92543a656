'use strict'
// A storage whose calls take a random time each, as those of a busy disk do. A fast disk hides what goes wrong while a
// read, a sync or a close is under way.

const { performance } = require('node:perf_hooks')

const TURN_COUNT_MAX = 12
/** One call in so many takes some ms, in which timers run. */
const LONG_CALL_RARITY = 40
const LONG_CALL_MS_MAX = 4
/** One synchronous call in so many takes so long that a log goes over to calls that do not block. */
const BLOCKING_CALL_RARITY = 12
const BLOCKING_CALL_MS = 1.1

const STORAGE_CALLS = ['open', 'rename', 'unlink', 'syncFolder', 'listFolder', 'realPath', 'copyOwnership', 'lock', 'findHolder', 'watch']
const HANDLE_CALLS = ['read', 'write', 'truncate', 'sync', 'size', 'stat', 'tryLock', 'isAt', 'findPath', 'close']
const LOCK_CALLS = ['noteFile', 'forgetFile', 'findPast', 'markIntact', 'release']
const BLOCKING_CALLS = ['readSync', 'writeSync', 'syncSync']

/**
 * @param {any} inner  a storage, such as block-file's `fileStorage`
 * @param {(limit: number) => number} random
 * @param {{ isBlocking?: boolean }} [options]  whether synchronous calls are slow at times, too; true by default. Then
 *   most transfers go through callbacks
 * @returns {any}  a storage
 */
function slowStorage (inner, random, { isBlocking = true } = {}) {
  /** @param {() => void} run */
  const later = (run) => {
    if (random(LONG_CALL_RARITY) === 0) return setTimeout(run, 1 + random(LONG_CALL_MS_MAX))
    const wait = (/** @type {number} */ turns) => turns === 0 ? run() : setImmediate(wait, turns - 1)
    wait(random(TURN_COUNT_MAX))
  }
  /** Both the call and its answer take their time. @type {(object: any, name: string, adapt?: (result: any) => any) => any} */
  const slow = (object, name, adapt = (result) => result) => (/** @type {any[]} */ ...args) => {
    const cb = args.pop()
    later(() => object[name](...args, (/** @type {any} */ err, /** @type {any} */ result) => {
      later(() => cb(err, err ? result : adapt(result)))
    }))
  }
  /** @type {(object: any, name: string) => any} */
  const blocking = (object, name) => (/** @type {any[]} */ ...args) => {
    const result = object[name](...args)
    if (random(BLOCKING_CALL_RARITY) === 0) for (const began = performance.now(); performance.now() - began < BLOCKING_CALL_MS;);
    return result
  }
  /** @type {(object: any, names: string[], wrap: (object: any, name: string) => any) => any} */
  const wrapAll = (object, names, wrap) => {
    return Object.fromEntries(names.filter((name) => object[name]).map((name) => [name, wrap(object, name)]))
  }
  const adaptHandle = (/** @type {any} */ handle) => handle && {
    ...handle,
    ...wrapAll(handle, HANDLE_CALLS, slow),
    ...(isBlocking && wrapAll(handle, BLOCKING_CALLS, blocking))
  }
  const adaptLock = (/** @type {any} */ lock) => {
    if (lock) for (const [name, call] of Object.entries(wrapAll(lock, LOCK_CALLS, (lock, name) => slow({ [name]: lock[name].bind(lock) }, name)))) lock[name] = call
    return lock
  }
  return {
    ...inner,
    ...wrapAll(inner, STORAGE_CALLS, (storage, name) => slow(storage, name, { open: adaptHandle, lock: adaptLock }[name]))
  }
}

exports.slowStorage = slowStorage
