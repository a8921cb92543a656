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

const STORAGE_CALLS = [
  'open', 'rename', 'unlink', 'syncFolder', 'listFolder', 'realPath', 'copyOwnership', 'lock', 'findHolder', 'watch'
]
const HANDLE_CALLS = ['read', 'write', 'truncate', 'sync', 'size', 'stat', 'tryLock', 'isAt', 'findPath', 'close']
const LOCK_CALLS = ['noteFile', 'forgetFile', 'findPast', 'markIntact', 'release']
const BLOCKING_CALLS = ['readSync', 'writeSync', 'syncSync']

/** @typedef {(limit: number) => number} Random */

/**
 * Makes a storage that passes calls to another one, each after a random number of turns of the event loop; some take
 * milliseconds. It shows what goes wrong while a read, a sync or a close is under way.
 * @param {any} inner  a storage, such as block-file's `fileStorage`
 * @param {Random} random
 * @param {{ isBlocking?: boolean }} [options]  `isBlocking`: whether synchronous calls are slow at times, too. Then
 *   most transfers go through callbacks; true by default
 * @returns {any}  a storage
 */
function slowStorage (inner, random, { isBlocking = true } = {}) {
  const adaptHandle = (/** @type {any} */ handle) => ({
    ...handle,
    ...slowCalls(handle, HANDLE_CALLS, random),
    ...(isBlocking && blockingCalls(handle, random))
  })
  // The rest of a lock needs the lock itself.
  const adaptLock = (/** @type {any} */ lock) => Object.assign(lock, slowCalls(lock, LOCK_CALLS, random))
  const openSync = inner.openSync && ((/** @type {any[]} */ ...args) => adaptHandle(inner.openSync(...args)))
  return { ...inner, openSync, ...slowCalls(inner, STORAGE_CALLS, random, { open: adaptHandle, lock: adaptLock }) }
}

/**
 * The calls of an object that call back. Both the call and its answer take their time.
 * @type {(object: any, names: string[], random: Random, adapt?: Record<string, (result: any) => any>) => any}
 */
function slowCalls (object, names, random, adapt = {}) {
  const calls = names.filter((name) => object[name]).map((name) => {
    const call = object[name].bind(object)
    const pass = (/** @type {any} */ result) => result && adapt[name] ? adapt[name](result) : result
    return [name, (/** @type {any[]} */ ...args) => {
      const cb = args.pop()
      wait(random, () => call(...args, (/** @type {any} */ err, /** @type {any} */ result) => {
        wait(random, () => cb(err, pass(result)))
      }))
    }]
  })
  return Object.fromEntries(calls)
}

/** @type {(object: any, random: Random) => any} the calls of an object that block */
function blockingCalls (object, random) {
  const names = BLOCKING_CALLS.filter((name) => object[name])
  return Object.fromEntries(names.map((name) => [name, (/** @type {any[]} */ ...args) => {
    const result = object[name](...args)
    const ms = random(BLOCKING_CALL_RARITY) === 0 ? BLOCKING_CALL_MS : 0
    for (const began = performance.now(); performance.now() - began < ms;);
    return result
  }]))
}

/** @type {(random: Random, run: () => void) => void} */
function wait (random, run) {
  if (random(LONG_CALL_RARITY) === 0) {
    setTimeout(run, 1 + random(LONG_CALL_MS_MAX))
    return
  }
  const turn = (/** @type {number} */ left) => left === 0 ? run() : setImmediate(turn, left - 1)
  turn(random(TURN_COUNT_MAX))
}

exports.slowStorage = slowStorage
