'use strict'
// Callbacks: loops over steps that call back, how many run before their call returns, and conversions between
// callbacks and promises.

const { nextTick } = require('node:process')
const { setImmediate } = require('node:timers')
const { misuse } = require('@millrace/errors')

// Callbacks that run before their call returns, in one turn of the event loop.
const SYNC_COUNT_MAX = 200

/** @template T @typedef {(err: Error | null, result?: T) => void} Callback */

/**
 * Runs a step again and again. A step may finish now or later; the stack does not grow if it finishes now.
 * @param {(next: () => void) => void} step  calls `next` once to run again; the loop ends if it does not
 */
function trampoline (step) {
  let inStep = false
  let again = false
  const next = () => {
    again = true
    if (!inStep) run()
  }
  const run = () => {
    inStep = true
    try {
      while (again) {
        again = false
        step(next)
      }
    } finally {
      inStep = false
    }
  }
  next()
}

/**
 * Visits the items of a list one after the other; the first error ends the loop.
 * @type {<T>(list: T[], visit: (item: T, done: (err: Error | null) => void) => void,
 *   cb: (err: Error | null) => void) => void}
 */
function eachInOrder (list, visit, cb) {
  let index = 0
  trampoline((next) => {
    if (index === list.length) return cb(null)
    visit(list[index++], (err) => err ? cb(err) : next())
  })
}

/**
 * Limits how many callbacks run before their call returns, in one turn of the event loop. A caller that recurses then
 * cannot overflow the stack, and a caller that awaits in a loop cannot starve timers.
 */
class SyncBudget {
  constructor () {
    this._syncCount = 0
  }

  /** Whether one more callback may run before its call returns. Counts that callback. */
  mayAnswer () {
    if (this._syncCount === 0) setImmediate(() => { this._syncCount = 0 })
    return this._syncCount++ < SYNC_COUNT_MAX
  }

  /**
   * Calls back now, or in the next turn if the budget is used up.
   * @type {<T>(cb: (err: null, result: T) => void, result: T) => void}
   */
  deliver (cb, result) {
    if (this.mayAnswer()) cb(null, result)
    else setImmediate(cb, null, result)
  }
}

/**
 * For methods that take a node callback last and return a promise if they get none. They never throw.
 * @template T
 * @param {import('@millrace/errors').NodeCallback<T> | undefined} cb
 * @param {(cb: Callback<T>) => void} run  must call back once
 * @param {string} name  of the method, for the error message
 * @returns {any}  a promise of the result if `cb` is undefined; one that is rejected with ERR_INVALID_ARGUMENT if it is
 *   no function either
 */
function callbackOrPromise (cb, run, name) {
  if (typeof cb === 'function') return run(/** @type {Callback<T>} */ (cb))
  return cb === undefined ? toPromise(run) : refuseCallback(cb, name)
}

/** @type {(cb: unknown, name: string) => Promise<any>} rejected: what was given as a callback is none */
async function refuseCallback (cb, name) {
  throw misuse(`${name}: expected a callback or nothing, got ${typeof cb}`)
}

/**
 * For hot methods whose promise must keep nothing but its own callback in memory.
 * @param {unknown} cb  what the caller gave as a callback, which is no function
 * @param {string} name  of the method
 * @returns {{ promise: Promise<any>, cb: Callback<any> | null }}  `cb` settles the promise. Null: the promise is
 *   rejected with ERR_INVALID_ARGUMENT already, because something else than a callback was given
 */
function createSettler (cb, name) {
  if (cb !== undefined) return { promise: refuseCallback(cb, name), cb: null }
  const settler = /** @type {{ promise: Promise<any>, cb: Callback<any> }} */ ({})
  settler.promise = new Promise((resolve, reject) => {
    // Not assigned where it is written: that would put it into the old space.
    /** @type {Callback<any>} */
    const settle = (err, result) => err ? reject(err) : resolve(result)
    settler.cb = settle
  })
  return settler
}

/**
 * Runs a function that takes a callback, and gives a promise of its result.
 * @type {<T>(run: (cb: (err: Error | null, result?: T) => void) => void) => Promise<any>}
 */
function toPromise (run) {
  return new Promise((resolve, reject) => {
    run((err, result) => err ? reject(err) : resolve(result))
  })
}

/**
 * Calls back from the event loop: an error that `cb` throws does not reject the promise.
 * @type {<T>(promise: Promise<T>, cb: (err: any, result?: any) => void) => void}
 */
function toCallback (promise, cb) {
  promise.then((result) => nextTick(cb, null, result), (err) => nextTick(cb, err))
}

/**
 * The methods of an object that take a callback last, as methods that return a promise.
 * @template T
 * @typedef {{ [Name in keyof T]-?: NonNullable<T[Name]> extends (...args: infer All) => any
 *   ? All extends [...infer Args, (...given: infer Given) => any] ? (...args: Args) => Promise<Result<Given>> : never
 *   : never }} Promised
 */
/** @template Given @typedef {Given extends [any, any?, ...any] ? Exclude<Given[1], undefined> : void} Result */

/** Each call looks the method up anew. @type {ProxyHandler<any>} */
const PROMISING = {
  get: (object, name) => (/** @type {any[]} */ ...args) => toPromise((cb) => object[name](...args, cb))
}

/**
 * Gives the methods of an object that take a callback last as methods that return a promise.
 * @type {<T extends object>(object: T) => Promised<T>}
 */
function promisesOf (object) {
  return new Proxy(object, PROMISING)
}

/**
 * Runs a function of the user. An error that it throws is thrown again from the event loop: there the user sees it, and
 * it interrupts nothing here.
 * @param {() => void} run
 */
function rethrowAsync (run) {
  try {
    run()
  } catch (err) {
    nextTick(() => { throw err })
  }
}

exports.trampoline = trampoline
exports.eachInOrder = eachInOrder
exports.SyncBudget = SyncBudget
exports.callbackOrPromise = callbackOrPromise
exports.createSettler = createSettler
exports.toCallback = toCallback
exports.toPromise = toPromise
exports.promisesOf = promisesOf
exports.rethrowAsync = rethrowAsync
