'use strict'
// Carries errors from a worker thread. The structured clone alone loses an error's class, code and cause.

const { types } = require('node:util')
const { LogError, reasonOf } = require('@millrace/errors')

// A chain of causes may be circular.
const DEPTH_MAX = 16
const CLASSES = {
  LogError, Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError
}
// These are carried in fields of their own.
const APART = ['name', 'message', 'stack', 'cause', 'errors']

/**
 * Plain data, which can be cloned.
 * @typedef {{ value: unknown }} CarriedValue  what was thrown but is no error: a copy, or a description
 * @typedef {object} CarriedError
 * @property {string} className  the nearest class that every thread has
 * @property {string} name
 * @property {string} message
 * @property {string} stack
 * @property {Record<string, unknown>} properties  all others that can be copied: code, offset, path, errno, ...
 * @property {Carried} [cause]
 * @property {Carried[]} [errors]  of an AggregateError
 * @typedef {CarriedError | CarriedValue} Carried
 */

/** @type {(err: unknown, depth?: number) => Carried} */
function packError (err, depth = 0) {
  if (!isError(err)) return { value: copy(err) }
  const { name, message, stack, errors } = readSafely(err, APART)
  const isDeep = depth === DEPTH_MAX
  const cause = Object.hasOwn(err, 'cause') ? readSafely(err, ['cause']).cause : undefined
  return {
    className: classOf(err),
    name: String(name),
    message: String(message),
    stack: String(stack),
    properties: copyProperties(err),
    ...(cause !== undefined && !isDeep && { cause: packError(cause, depth + 1) }),
    ...(Array.isArray(errors) && !isDeep && { errors: errors.map((err) => packError(err, depth + 1)) })
  }
}

/**
 * @param {Carried} carried
 * @returns {any}  an error, unless another value was thrown
 */
function unpackError (carried) {
  if ('value' in carried) return carried.value
  const { className, name, message, stack, properties, cause, errors } = carried
  const err = create(/** @type {keyof typeof CLASSES} */ (className), message, errors)
  const hidden = { configurable: true, writable: true, enumerable: false }
  if (err.name !== name) Object.defineProperty(err, 'name', { ...hidden, value: name })
  Object.defineProperty(err, 'stack', { ...hidden, value: stack })
  if (cause !== undefined) Object.defineProperty(err, 'cause', { ...hidden, value: unpackError(cause) })
  return Object.assign(err, properties)
}

/** @type {(className: keyof typeof CLASSES, message: string, errors?: Carried[]) => Error} */
function create (className, message, errors = []) {
  if (className === 'LogError') return new LogError('ERR_SCAN_TASK', message)
  if (className === 'AggregateError') return new AggregateError(errors.map(unpackError), message)
  return new CLASSES[className](message)
}

/** @type {(value: unknown) => value is Error} */
function isError (value) {
  return value instanceof Error || types.isNativeError(value)
}

/** @param {Error} err */
function classOf (err) {
  for (let at = Object.getPrototypeOf(err); at !== null; at = Object.getPrototypeOf(at)) {
    const name = Object.hasOwn(at, 'constructor') ? at.constructor?.name : undefined
    if (Object.hasOwn(CLASSES, name)) return String(name)
  }
  return 'Error'
}

/** @param {Error} err */
function copyProperties (err) {
  /** @type {Record<string, unknown>} */
  const properties = {}
  const names = Object.keys(err).filter((name) => !APART.includes(name))
  for (const [name, value] of Object.entries(readSafely(err, names))) {
    if (typeof value !== 'function') properties[name] = copy(value)
  }
  return properties
}

/** A getter that throws gives no value. @type {(err: Error, names: string[]) => Record<string, unknown>} */
function readSafely (err, names) {
  /** @type {Record<string, unknown>} */
  const values = {}
  for (const name of names) {
    try {
      values[name] = /** @type {any} */ (err)[name]
    } catch {}
  }
  return values
}

/** @param {unknown} value */
function copy (value) {
  try {
    return structuredClone(value)
  } catch {
    return describe(value)
  }
}

/** @param {unknown} value */
function describe (value) {
  try {
    return String(value)
  } catch {
    return typeof value
  }
}

/**
 * @param {string} what  the task did
 * @param {string} path  of the task's module
 * @param {unknown} [cause]
 */
function taskFailed (what, path, cause) {
  const reason = cause === undefined ? '' : `: ${reasonOf(cause)}`
  return new LogError('ERR_SCAN_TASK', `scan: the task ${path} ${what}${reason}`, { cause, path })
}

exports.taskFailed = taskFailed
exports.packError = packError
exports.unpackError = unpackError
