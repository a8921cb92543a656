'use strict'
// LogError: a code for programs, and a message for people that says what was found, where, and what to do.

/**
 * @typedef {keyof typeof import('./codes').codes} ErrorCode
 * @typedef {keyof typeof import('node:os').constants.errno} SystemCode  a code of the file system
 * @typedef {ErrorCode | SystemCode} FailureCode
 * @typedef {Error & { code?: FailureCode }} Failure  `code`: an error of a user's codec or storage may
 *   have none
 */

/**
 * The callback that users pass. As in all of Node.js, an error comes without a result.
 * @template Result
 * @typedef {(err: Failure | null, result: Result) => void} NodeCallback
 */

/**
 * @typedef {object} LogErrorDetails
 * @property {unknown} [cause]  the error that caused this one
 * @property {number} [offset]  a byte position, in the file or in the record that was being decoded
 * @property {string | Array<string | number>} [path]  the path of the file, or the keys that lead to a value
 * @property {number} [index]  the index of the value in its batch
 * @property {number} [seq]  of the record that an append was refused for
 * @property {Holder} [holder]  the holder of the lock that was asked for
 *
 * @typedef {object} Holder
 * @property {string} host
 * @property {number} pid
 * @property {number | null} thread  the kernel's number of the thread; null if it is unknown
 * @property {string} since  an ISO date
 */

/** A failure of the world (disk, file, bytes). It arrives by callback, promise or the end of a stream. */
class LogError extends Error {
  /**
   * @param {FailureCode} code  one of `codes`, or a code of the file system such as `EISDIR`
   * @param {string} message  what was found, where, and what to do
   * @param {LogErrorDetails} [details]
   */
  constructor (code, message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'LogError'
    /** @type {FailureCode} */
    this.code = code
    // A printed error shows only the details that are set.
    if (details.offset !== undefined) this.offset = details.offset
    if (details.path !== undefined) this.path = details.path
    if (details.index !== undefined) this.index = details.index
    if (details.seq !== undefined) this.seq = details.seq
    if (details.holder !== undefined) this.holder = details.holder
  }
}

/**
 * A mistake of the caller. Synchronous functions throw it; methods with a callback pass it to the callback.
 * @type {(message: string) => TypeError & { code: 'ERR_INVALID_ARGUMENT' }}
 */
function misuse (message) {
  return Object.assign(new TypeError(message), /** @type {const} */ ({ code: 'ERR_INVALID_ARGUMENT' }))
}

/**
 * Refuses what is no object of options, and an option that is misspelt, or that belongs elsewhere. An unknown one that
 * is undefined counts as missing.
 * @param {string} call  which got the options
 * @param {unknown} options
 * @param {readonly string[]} [known]  without it, any option may be there
 * @param {Readonly<Record<string, readonly string[]>>} [elsewhere]  by place, such as `log`: the options that belong
 *   there
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function checkOptions (call, options, known, elsewhere = {}) {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw misuse(`${call}: expected options, got ${Array.isArray(options) ? 'an array' : reasonOf(options)}`)
  }
  if (known === undefined) return
  const given = /** @type {Record<string, unknown>} */ (options)
  for (const name in given) {
    if (known.includes(name) || !Object.hasOwn(given, name) || given[name] === undefined) continue
    throw misuse(`${call}: there is no option ${name}; ${suggest(name, known, elsewhere)}there are ${known.join(', ')}`)
  }
}

/**
 * Checks an option that is a number.
 * @type {(what: string, value: unknown, byDefault: number, least: number) => number} `what`: the call and the option,
 *   such as 'SlotLog: slots'
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseNumber (what, value, byDefault, least) {
  if (value === undefined) return byDefault
  if (typeof value === 'number' && value >= least) return value
  throw misuse(`${what} must be a number, at least ${least}, got ${reasonOf(value)}`)
}

/** Of a value in a message, in UTF-16 units. */
const SHOWN_LENGTH_MAX = 200

/** A timer of Node.js that is to wait for longer fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * What to give to a timer that is to wait for a time that a user has chosen. It may end after 24 days.
 * @param {number} ms
 * @returns {number}
 */
function timerMs (ms) {
  return Math.min(ms, TIMER_MS_MAX)
}

/**
 * What may have been meant.
 * @type {(name: string, known: readonly string[], elsewhere: Readonly<Record<string, readonly string[]>>) => string}
 */
function suggest (name, known, elsewhere) {
  const places = Object.entries(elsewhere)
  const right = places.filter(([, names]) => names.includes(name)).map(([place]) => place)
  if (right.length > 0) return `it belongs in ${right.join(' or ')}; `
  const close = known.find((other) => isClose(name, other))
  if (close !== undefined) return `did you mean ${close}? If not, `
  for (const [place, names] of places) {
    const there = names.find((other) => isClose(name, other))
    if (there !== undefined) return `did you mean ${there}, which belongs in ${place}? If not, `
  }
  return ''
}

/**
 * Whether one was meant as the other: other cases or signs, or one or two letters.
 * @type {(a: string, b: string) => boolean}
 */
function isClose (a, b) {
  const [one, other] = [a, b].map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ''))
  return one === other || (Math.min(one.length, other.length) > 2 && countEdits(one, other) <= (one.length > 5 ? 2 : 1))
}

/** How many letters were added, left out or changed. @type {(a: string, b: string) => number} */
function countEdits (a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, count) => count)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1]))
    }
    row = next
  }
  return row[b.length]
}

/**
 * The text of anything that was thrown or given, even if turning it into text throws. Of a value that is no error only
 * the beginning.
 * @type {(thrown: unknown) => string}
 */
function reasonOf (thrown) {
  try {
    if (thrown instanceof Error) return `${thrown.message}`
    const text = String(thrown)
    return text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text
  } catch {
    return 'a value that has no text'
  }
}

/** Wraps what the function `what` threw, unless it is an Error. @type {(thrown: unknown, what: string) => Error} */
function asError (thrown, what) {
  if (thrown instanceof Error) return thrown
  return Object.assign(misuse(`${what} threw ${reasonOf(thrown)}; throw an Error`), { cause: thrown })
}

exports.LogError = LogError
exports.misuse = misuse
exports.checkOptions = checkOptions
exports.countEdits = countEdits
exports.parseNumber = parseNumber
exports.TIMER_MS_MAX = TIMER_MS_MAX
exports.timerMs = timerMs
exports.reasonOf = reasonOf
exports.asError = asError
