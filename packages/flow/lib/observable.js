'use strict'
// A value with listeners, compatible with the package obz. Unlike there, a listener that throws, or that sets the next
// value, does not stop the other listeners.

const { rethrowAsync } = require('./callbacks')

/**
 * A value with listeners. A new listener is called at once if there is a value and `immediately` is not false. To stop
 * listening, call the returned function, or return false from the listener.
 * @template T
 * @typedef {{
 *   (listener: (value: T) => unknown, immediately?: boolean): () => void
 *   once: (listener: (value: T) => unknown, immediately?: boolean) => () => void
 *   readonly value: T | undefined
 * }} Observable  `value` is undefined until it is set
 */

/**
 * An Observable for the code that sets the value.
 * @template T
 * @typedef {{
 *   (listener: (value: T) => unknown, immediately?: boolean): () => void
 *   once: (listener: (value: T) => unknown, immediately?: boolean) => () => void
 *   value: T
 *   set: (value: T) => Obz<T>
 * }} Obz
 */

/**
 * Makes a value with listeners, with the interface of obz. If a listener throws, the others still run.
 * @template T
 * @returns {Obz<T>}
 */
function createObservable () {
  /** @type {T | undefined} undefined until it is set */
  let value
  /** @type {Array<(value: T) => unknown>} */
  const listeners = []
  /** @type {Array<(value: T) => unknown>} called once, then removed */
  const oncers = []

  /** @param {(value: T) => unknown} listener  @param {boolean} [immediately] */
  const observable = (listener, immediately) => {
    const own = (/** @type {T} */ value) => listener(value)
    listeners.push(own)
    if (value !== undefined && immediately !== false && listener(value) === false) remove(listeners, own)
    return () => remove(listeners, own)
  }

  /** @type {(listener: (value: T) => unknown, immediately?: boolean) => () => void} */
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
    // Usually nobody listens, and copies would be made at every append.
    if (listeners.length === 0 && oncers.length === 0) return observable
    for (const listener of [...listeners]) {
      // An earlier listener may have set a newer value, which all listeners have then got, or removed this listener.
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

/** @type {<T>(list: T[], item: T) => void} */
function remove (list, item) {
  const index = list.indexOf(item)
  if (index !== -1) list.splice(index, 1)
}

exports.createObservable = createObservable
