'use strict'
// Log records as both readers give them: their shape, and how the values of either encoding become values of JSON.

const { LogError } = require('@millrace/errors')
const { ANY_VALUE, LOG_RECORD } = require('./fields')

/** How members of a record begin, as JSON text. */
const NAMES = Object.freeze({
  time: nameOf('time'),
  observedTime: nameOf('observedTime'),
  severityNumber: nameOf('severityNumber'),
  severityText: nameOf('severityText'),
  eventName: nameOf('eventName'),
  body: nameOf('body'),
  attributes: nameOf('attributes'),
  droppedAttributesCount: nameOf('droppedAttributesCount'),
  traceId: nameOf('traceId'),
  spanId: nameOf('spanId'),
  flags: nameOf('flags')
})
/** Values in a log record or a resource: so many objects take some ms and some MiB. An attribute is two in protobuf. */
const PARTS_MAX = 100_000
const COMPARED_COUNT_MAX = 64
const SHOWN_LENGTH_MAX = 40
const UINT32 = 2 ** 32
const BILLION = 1e9
const NANOSECOND_DIGITS = 9
/** Names as protobuf has them, which JSON of OTLP must not have: others than these are unknown, and ignored. */
const MISSPELLED = new Map([...Object.keys(LOG_RECORD), ...Object.keys(ANY_VALUE)]
  .map((name) => /** @type {[string, string]} */ ([name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name]))
  .filter(([name, meant]) => name !== meant))
const SECONDS_LENGTH = 20

/**
 * What was not sent is undefined.
 * @typedef {object} LogRecord
 * @property {string | undefined} time  an ISO text with nanoseconds, such as `2026-09-21T14:13:20.000000123Z`
 * @property {string | undefined} observedTime  when a collector or an SDK saw it, in the same form
 * @property {number | undefined} severityNumber  1 to 24
 * @property {string | undefined} severityText  the name of the level
 * @property {string | undefined} eventName  the name of the event
 * @property {AnyValue | undefined} body  the message
 * @property {Attributes | undefined} attributes  of the record
 * @property {number | undefined} droppedAttributesCount  how many the sender has left out
 * @property {string | undefined} traceId  32 hex digits, in small letters
 * @property {string | undefined} spanId  16 hex digits, in small letters
 * @property {number | undefined} flags  of the trace
 *
 * @typedef {object} Resource  what the records of one process share
 * @property {Attributes | undefined} attributes  such as `service.name`
 * @property {number | undefined} droppedAttributesCount  how many the sender has left out
 * @property {string | undefined} schemaUrl  of the schema that names the attributes
 *
 * @typedef {object} Scope  the part of a program that made the records
 * @property {string | undefined} name  of the part, such as a library or a logger
 * @property {string | undefined} version  of the part
 * @property {Attributes | undefined} attributes  of the part
 * @property {number | undefined} droppedAttributesCount  how many the sender has left out
 * @property {string | undefined} schemaUrl  of the schema that names the attributes
 *
 * @typedef {Group<LogRecord>} LogGroup
 * @typedef {string | number | boolean | null | any[] | Attributes} AnyValue
 * @typedef {{ [key: string]: any }} Attributes
 * @typedef {{ countMax: number }} ReadLimits  log records of a request
 */

/**
 * Records of one scope.
 * @template T
 * @typedef {{ resource: Resource, scope: Scope, records: T[] }} Group
 */

/** How a member begins in JSON text. @param {string} name */
function nameOf (name) {
  return Buffer.from(`"${name}":`)
}

/** @returns {LogRecord} */
function emptyRecord () {
  return {
    time: undefined,
    observedTime: undefined,
    severityNumber: undefined,
    severityText: undefined,
    eventName: undefined,
    body: undefined,
    attributes: undefined,
    droppedAttributesCount: undefined,
    traceId: undefined,
    spanId: undefined,
    flags: undefined
  }
}

/** @returns {Resource} */
function emptyResource () {
  return { attributes: undefined, droppedAttributesCount: undefined, schemaUrl: undefined }
}

/** @returns {Scope} */
function emptyScope () {
  return { name: undefined, version: undefined, ...emptyResource() }
}

/**
 * The last value of a key counts.
 * @type {(attributes: Attributes, key: string, value: AnyValue) => void}
 */
function setAttribute (attributes, key, value) {
  if (key !== '__proto__') attributes[key] = value
  // Assigning would set the prototype.
  else Object.defineProperty(attributes, key, { value, writable: true, enumerable: true, configurable: true })
}

/**
 * Whether a key, a part of the bytes, differs from all before it. Then it is added to them. Only so many keys are
 * compared; beyond, none is new.
 * @type {(bytes: Uint8Array, from: number, to: number, keys: number[]) => boolean} `keys`: from, to, from, to, ...
 */
function isNewKey (bytes, from, to, keys) {
  if (keys.length >= 2 * COMPARED_COUNT_MAX) return false
  for (let index = 0; index < keys.length; index += 2) {
    const begin = keys[index]
    if (keys[index + 1] - begin !== to - from) continue
    let at = from
    while (at < to && bytes[at] === bytes[begin + at - from]) at++
    if (at === to) return false
  }
  keys.push(from, to)
  return true
}

let lastSeconds = -1
let lastText = ''

/** The text of a time up to its seconds, with the point after them. @param {number} seconds */
function showSeconds (seconds) {
  if (seconds !== lastSeconds) {
    lastText = new Date(seconds * 1000).toISOString().slice(0, SECONDS_LENGTH)
    lastSeconds = seconds
  }
  return lastText
}

/**
 * A time as ISO text with all its digits: such texts are in the order of their times.
 * @type {(seconds: number, nanoseconds: string) => string}
 */
function showTime (seconds, nanoseconds) {
  return `${showSeconds(seconds)}${nanoseconds}Z`
}

/**
 * Nanoseconds since 1970, in two parts.
 * @type {(low: number, high: number) => { seconds: number, nanoseconds: number }}
 */
function splitTime (low, high) {
  // A long division with digits of 32, 16 and 16 bits: numbers of JavaScript hold 53.
  const upper = Math.floor(high / BILLION)
  let rest = (high % BILLION) * 65536 + (low >>> 16)
  const middle = Math.floor(rest / BILLION)
  rest = (rest % BILLION) * 65536 + (low & 0xffff)
  return { seconds: upper * UINT32 + middle * 65536 + Math.floor(rest / BILLION), nanoseconds: rest % BILLION }
}

/** Nanoseconds since 1970; 0 means unknown. @type {(low: number, high: number) => string | undefined} */
function timeOfBits (low, high) {
  if (low === 0 && high === 0) return undefined
  const { seconds, nanoseconds } = splitTime(low, high)
  return showTime(seconds, String(nanoseconds).padStart(NANOSECOND_DIGITS, '0'))
}

/** The same, of a whole number below 2^64. @type {(digits: string) => string | undefined} */
function timeOfDigits (digits) {
  if (/^0+$/.test(digits)) return undefined
  const padded = digits.padStart(NANOSECOND_DIGITS + 1, '0')
  return showTime(Number(padded.slice(0, -NANOSECOND_DIGITS)), padded.slice(-NANOSECOND_DIGITS))
}

/**
 * A number, or decimal digits where a number would be rounded.
 * @type {(low: number, high: number) => number | string}
 */
function integerOfBits (low, high) {
  const value = (high | 0) * UINT32 + low
  return Number.isSafeInteger(value) ? value : String(BigInt.asIntN(64, BigInt(high) << 32n | BigInt(low)))
}

/** JSON has no NaN and no infinity. @param {number} value */
function showDouble (value) {
  return Number.isFinite(value) ? value : String(value)
}

/** Undefined if it is not valid. @type {(hex: string, size: number) => string | undefined} */
function idOfHex (hex, size) {
  if (hex.length !== 2 * size || /^0+$/.test(hex)) return undefined
  return /^[0-9a-f]+$/.test(hex) ? hex : /^[0-9a-f]+$/i.test(hex) ? hex.toLowerCase() : undefined
}

/**
 * Of a part of a request in JSON that has members, but not its list: it holds something else, such as traces, or logs
 * under an older name, and to accept it would lose that.
 * @type {(list: string, name: string) => string} `name`: of a member
 */
function whyNoList (list, name) {
  const shown = name.length > SHOWN_LENGTH_MAX ? `${name.slice(0, SHOWN_LENGTH_MAX)}...` : name
  return `it has no ${list}${shown === '' ? '' : `, but ${JSON.stringify(shown)}`}`
}

/**
 * Why a member of this name is refused: to ignore it would lose what it means.
 * @type {(name: string) => string | undefined}
 */
function whyNoName (name) {
  const meant = MISSPELLED.get(name)
  return meant && `${name} must be spelled ${meant}`
}

/** @param {number} countMax */
function tooMany (countMax) {
  return new LogError('ERR_RECORD_TOO_LARGE', `a request may have ${countMax} log records; send smaller batches`)
}

/** @returns {LogError} */
function tooManyParts () {
  return new LogError('ERR_RECORD_TOO_LARGE', 'there are too many values; send fewer in a log record, or smaller batches')
}

/** @type {(name: string, sizeMax: number) => LogError} */
function partTooLarge (name, sizeMax) {
  return new LogError('ERR_RECORD_TOO_LARGE', `a ${name} has more than ${sizeMax} bytes, and each record would contain it`)
}

exports.PARTS_MAX = PARTS_MAX
exports.whyNoList = whyNoList
exports.whyNoName = whyNoName
exports.tooManyParts = tooManyParts
exports.partTooLarge = partTooLarge
exports.emptyRecord = emptyRecord
exports.emptyResource = emptyResource
exports.emptyScope = emptyScope
exports.isNewKey = isNewKey
exports.setAttribute = setAttribute
exports.showSeconds = showSeconds
exports.splitTime = splitTime
exports.timeOfBits = timeOfBits
exports.timeOfDigits = timeOfDigits
exports.integerOfBits = integerOfBits
exports.showDouble = showDouble
exports.idOfHex = idOfHex
exports.tooMany = tooMany
/** Arrays and maps inside one another. */
exports.NESTING_MAX = 64
exports.TRACE_ID_SIZE = 16
exports.SPAN_ID_SIZE = 8
exports.NAMES = NAMES
exports.nameOf = nameOf
exports.NANOSECOND_DIGITS = NANOSECOND_DIGITS
