'use strict'
// An observable, as types: what the package obz makes, whose interface ours has.

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
 * The same for who sets it.
 * @template T
 * @typedef {{
 *   (listener: (value: T) => unknown, immediately?: boolean): () => void
 *   once: (listener: (value: T) => unknown, immediately?: boolean) => () => void
 *   value: T
 *   set: (value: T) => Obz<T>
 * }} Obz
 */

module.exports = {}
