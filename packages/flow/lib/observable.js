'use strict'
// A value, and whoever wants to know when it changes: what the package obz makes, but one listener that throws takes
// nothing from the others, nor does one that sets the next value.

const { rethrowAsync } = require('./callbacks')

/**
 * A value, and whoever wants to know when it changes. A listener that returns false is called no more; what listening
 * returns takes it off too. It is called at once if there is a value already and `immediately` is not false.
 * @template T
 * @typedef {{
 *   (listener: (value: T) => unknown, immediately?: boolean): () => void
 *   once: (listener: (value: T) => unknown, immediately?: boolean) => () => void
 *   readonly value: T | undefined
 * }} Observable  undefined as long as no value was set
 */

/**
 * The same for the one that sets it.
 * @template T
 * @typedef {{
 *   (listener: (value: T) => unknown, immediately?: boolean): () => void
 *   once: (listener: (value: T) => unknown, immediately?: boolean) => () => void
 *   value: T
 *   set: (value: T) => Obz<T>
 * }} Obz
 */

/**
 * @template T
 * @returns {Obz<T>}
 */
function createObservable () {
  /** @type {T | undefined} undefined as long as none was set */
  let value
  /** @type {Array<(value: T) => unknown>} */
  const listeners = []
  /** @type {Array<(value: T) => unknown>} who is called once, and no more */
  const oncers = []

  /**
   * @param {(value: T) => unknown} listener
   * @param {boolean} [immediately]
   */
  const observable = (listener, immediately) => {
    const own = (/** @type {T} */ value) => listener(value)
    listeners.push(own)
    if (value !== undefined && immediately !== false && listener(value) === false) remove(listeners, own)
    return () => remove(listeners, own)
  }

  /**
   * @param {(value: T) => unknown} listener
   * @param {boolean} [immediately]
   */
  observable.once = (listener, immediately) => {
    if (value !== undefined && immediately !== false) {
      listener(value)
      return () => {}
    }
    const own = (/** @type {T} */ value) => listener(value)
    oncers.push(own)
    return () => remove(oncers, own)
  }

  /** @param {T} next */
  observable.set = (next) => {
    observable.value = value = next
    for (const listener of [...listeners]) {
      // Who was taken off meanwhile is called no more; and a newer value was told to everybody.
      if (value !== next) return observable
      if (!listeners.includes(listener)) continue
      rethrowAsync(() => { if (listener(next) === false) remove(listeners, listener) })
    }
    for (const oncer of [...oncers]) {
      if (value !== next) return observable
      if (!oncers.includes(oncer)) continue
      remove(oncers, oncer)
      rethrowAsync(() => oncer(next))
    }
    return observable
  }

  observable.value = /** @type {any} */ (undefined)
  return /** @type {any} */ (observable)
}

/**
 * @template T
 * @param {T[]} list
 * @param {T} item
 */
function remove (list, item) {
  const index = list.indexOf(item)
  if (index !== -1) list.splice(index, 1)
}

exports.createObservable = createObservable
