'use strict'
// Callbacks: loops over steps that call back, and the ways between callbacks and promises.

const { misuse } = require('@millrace/errors')

/**
 * @template T
 * @typedef {(err: Error | null, result?: T) => void} Callback
 */

/**
 * A loop over a step that may finish now or later. The stack does not grow when it finishes now.
 * @param {(next: () => void) => void} step  calls `next` once to be run again, or never to end the loop
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
 * Visits the items of a list one after the other.
 * @template T
 * @param {T[]} list
 * @param {(item: T, done: (err: Error | null) => void) => void} visit
 * @param {(err: Error | null) => void} cb  the first error ends the loop
 */
function eachInOrder (list, visit, cb) {
  let index = 0
  trampoline((next) => {
    if (index === list.length) return cb(null)
    visit(list[index++], (err) => err ? cb(err) : next())
  })
}

/**
 * For methods that take a node callback last, and give a promise when they get none.
 * @template T
 * @param {import('@millrace/errors').NodeCallback<T> | undefined} cb
 * @param {(cb: Callback<T>) => void} run  must call back once
 * @param {string} name  of the method
 * @returns {any}  a promise of the result, when there is no callback
 * @throws {TypeError} when `cb` is neither a function nor left out
 */
function callbackOrPromise (cb, run, name) {
  if (typeof cb === 'function') return run(/** @type {Callback<T>} */ (cb))
  if (cb !== undefined) throw misuse(`${name}: expected a callback or nothing, got ${typeof cb}`)
  return toPromise(run)
}

/**
 * @template T
 * @param {(cb: (err: Error | null, result?: T) => void) => void} run  calls something that takes a callback
 * @returns {Promise<any>}
 */
function toPromise (run) {
  return new Promise((resolve, reject) => {
    run((err, result) => err ? reject(err) : resolve(result))
  })
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {(err: any, result?: any) => void} cb  called from the event loop: what it throws does not reject the promise
 */
function toCallback (promise, cb) {
  promise.then((result) => process.nextTick(cb, null, result), (err) => process.nextTick(cb, err))
}

/**
 * @param {any} object
 * @param {string} name  of a method that takes a callback last
 * @param {...any} args  before that
 * @returns {Promise<any>}
 */
function call (object, name, ...args) {
  return toPromise((cb) => object[name](...args, cb))
}

/**
 * Runs a function of the user. What it throws is thrown again from the event loop, where the user sees it, and stops
 * nothing here.
 * @param {() => void} run
 */
function rethrowAsync (run) {
  try {
    run()
  } catch (err) {
    process.nextTick(() => { throw err })
  }
}

exports.trampoline = trampoline
exports.eachInOrder = eachInOrder
exports.callbackOrPromise = callbackOrPromise
exports.toCallback = toCallback
exports.toPromise = toPromise
exports.call = call
exports.rethrowAsync = rethrowAsync
