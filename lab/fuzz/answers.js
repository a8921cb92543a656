'use strict'
// What calls answer, in a form that can be compared: values as they are, failures by their code and place.

const { codes } = require('@millrace/errors')
const { StepLimitError } = require('./steps')
const { Violation } = require('./violation')

/** How a call failed. */
class Failure {
  /**
   * @param {string} code
   * @param {number} offset  NaN when the error names no place
   */
  constructor (code, offset) {
    this.code = code
    this.offset = offset
  }
}

/**
 * @param {any} err  that the code under test threw or called back with
 * @param {number} [start]  what its offset counts from
 * @returns {Failure}
 * @throws {Violation} when it has no code of the table
 */
function failureOf (err, start = 0) {
  if (err instanceof Violation) throw err
  if (err instanceof StepLimitError) throw new Violation('steps', err.stack ?? err.message)
  // Not by class: there are two copies of each.
  const isCoded = err instanceof Error && Object.hasOwn(codes, /** @type {any} */ (err).code)
  const isMisuse = isCoded && /** @type {any} */ (err).code === 'ERR_INVALID_ARGUMENT'
  if (!isCoded || err.name !== (isMisuse ? 'TypeError' : 'LogError')) throw new Violation('no code', String(err?.stack ?? err))
  const { code, offset } = /** @type {any} */ (err)
  return new Failure(code, offset === undefined ? NaN : offset - start)
}

/**
 * @template T
 * @param {() => T} call
 * @param {number} [start]
 * @returns {T | Failure}
 */
function attempt (call, start) {
  try {
    return call()
  } catch (err) {
    return failureOf(err, start)
  }
}

/**
 * @param {any} one
 * @param {any} other
 * @returns {boolean}  whether they are the same value, of the kinds that the codecs know
 */
function isSame (one, other) {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one)) return Array.isArray(other) && areSameItems(one, other)
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.compare(one, other) === 0
  if (one instanceof Date) return other instanceof Date && Object.is(one.getTime(), other.getTime())
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false
  const keys = Object.keys(one)
  return areSameItems(keys, Object.keys(other)) && keys.every((key) => isSame(one[key], other[key]))
}

/**
 * @param {any[]} one
 * @param {any[]} other
 */
function areSameItems (one, other) {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (!isSame(one[index], other[index])) return false
  return true
}

/**
 * @param {any} one
 * @param {any} other
 * @param {string} [path]
 * @returns {string}  where they differ first, and how
 */
function describeDifference (one, other, path = 'answer') {
  const areParts = [one, other].every((value) => value !== null && typeof value === 'object' && !(value instanceof Uint8Array))
  if (areParts && Array.isArray(one) === Array.isArray(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      if (!isSame(one[key], other[key])) return describeDifference(one[key], other[key], `${path}.${key}`)
    }
  }
  return `${path}: ${show(one)} or ${show(other)}`
}

/**
 * @param {boolean} isTrue
 * @param {string | (() => string)} message  made only when it is needed: most cases are as they should be
 * @throws {Violation}
 */
function ensure (isTrue, message) {
  if (!isTrue) throw new Violation('wrong answer', typeof message === 'string' ? message : message())
}

/**
 * @param {string} what
 * @param {any} one
 * @param {any} other
 * @throws {Violation}
 */
function ensureSame (what, one, other) {
  if (!isSame(one, other)) throw new Violation('wrong answer', `${what}: ${describeDifference(one, other)}`)
}

/** @param {any} value */
function show (value) {
  const text = JSON.stringify(value, (_, part) => typeof part === 'bigint' ? `${part}n` : part) ?? String(value)
  return text.length > 200 ? `${text.slice(0, 200)}...` : text
}

exports.Failure = Failure
exports.attempt = attempt
exports.describeDifference = describeDifference
exports.ensure = ensure
exports.ensureSame = ensureSame
exports.failureOf = failureOf
exports.isSame = isSame
exports.show = show
