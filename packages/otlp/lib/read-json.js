'use strict'
// A logs request in JSON, as log records. Members with unknown names are ignored, and null is as good as nothing; a
// member of the wrong kind is refused, with its name, and so is a part that has others in place of its list.

const { isUtf8 } = require('node:buffer')
const { LogError } = require('@millrace/errors')
const { parseText } = require('@millrace/json-codec')
const { hasLongNumber, quoteLongIntegers } = require('./long-integers')
const {
  NESTING_MAX, SPAN_ID_SIZE, TRACE_ID_SIZE, emptyRecord, emptyResource, emptyScope, idOfHex, setAttribute, showDouble,
  timeOfDigits, tooMany, whyNoList, whyNoName
} = require('./log-record')

const INT64_LIMIT = 2n ** 63n
const UINT64_LIMIT = 2n ** 64n
const INT32_LIMIT = 2 ** 31
const UINT32_LIMIT = 2 ** 32
const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
/** Of either alphabet. */
const BASE64 = /^[\w+/-]*={0,2}$/
const SHOWN_LENGTH_MAX = 40
const NOT_FINITE = ['NaN', 'Infinity', '-Infinity']

/**
 * @typedef {import('./log-record').AnyValue} AnyValue
 * @typedef {import('./log-record').Attributes} Attributes
 * @typedef {import('./log-record').LogGroup} LogGroup
 * @typedef {import('./log-record').LogRecord} LogRecord
 * @typedef {Record<string, any>} Json
 */

/**
 * Reads all log records of a request in JSON, as `readProtobuf` does. 64-bit integers may be strings or numbers, and
 * numbers keep all their digits; enums must be integers. A part that has others in place of its list is refused.
 * @param {Uint8Array} bytes
 * @param {import('./log-record').ReadLimits} limits
 * @returns {LogGroup[]}
 * @throws {LogError} ERR_CODEC_DECODE; ERR_RECORD_TOO_LARGE beyond the limits
 */
function readJson (bytes, { countMax }) {
  const request = parse(bytes)
  checkObject(request, 'the request')
  checkList(request, 'resourceLogs', [])
  /** @type {LogGroup[]} */
  const groups = []
  let count = 0
  for (const resourceLogs of listOf(request, 'resourceLogs')) {
    checkList(resourceLogs, 'scopeLogs', ['resource', 'schemaUrl'])
    const resource = readResource(resourceLogs)
    for (const scopeLogs of listOf(resourceLogs, 'scopeLogs')) {
      checkList(scopeLogs, 'logRecords', ['scope', 'schemaUrl'])
      const list = listOf(scopeLogs, 'logRecords')
      count += list.length
      if (count > countMax) throw tooMany(countMax)
      if (list.length > 0) groups.push({ resource, scope: readScope(scopeLogs), records: list.map(readLogRecord) })
    }
  }
  return groups
}

/** @type {(given: Json, list: string, others: string[]) => void} */
function checkList (given, list, others) {
  const stranger = Object.keys(given).find((name) => !others.includes(name))
  if (stranger !== undefined && !Object.hasOwn(given, list)) throw wrong(whyNoList(list, stranger))
}

/** @param {Uint8Array} bytes */
function parse (bytes) {
  if (!isUtf8(bytes)) throw wrong('it is not UTF-8')
  return parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString())
}

/** Long integers become texts. @param {string} text @returns {any} */
function parseJson (text) {
  try {
    return parseText(hasLongNumber(text) ? quoteLongIntegers(text) : text)
  } catch (/** @type {any} */ err) {
    throw wrong(err.message, err)
  }
}

/** @param {Json} resourceLogs */
function readResource (resourceLogs) {
  const given = objectOf(resourceLogs, 'resource')
  const resource = emptyResource()
  resource.attributes = attributesOf(given)
  resource.droppedAttributesCount = uint32Of(given, 'droppedAttributesCount')
  resource.schemaUrl = textOf(resourceLogs, 'schemaUrl')
  return resource
}

/** @param {Json} scopeLogs */
function readScope (scopeLogs) {
  const given = objectOf(scopeLogs, 'scope')
  const scope = emptyScope()
  scope.name = textOf(given, 'name')
  scope.version = textOf(given, 'version')
  scope.attributes = attributesOf(given)
  scope.droppedAttributesCount = uint32Of(given, 'droppedAttributesCount')
  scope.schemaUrl = textOf(scopeLogs, 'schemaUrl')
  return scope
}

/** @param {Json} given @returns {LogRecord} */
function readLogRecord (given) {
  for (const name of Object.keys(given)) checkName(name)
  const record = emptyRecord()
  record.time = timeOf(given, 'timeUnixNano')
  record.observedTime = timeOf(given, 'observedTimeUnixNano')
  record.severityNumber = enumOf(given, 'severityNumber')
  record.severityText = textOf(given, 'severityText')
  record.eventName = textOf(given, 'eventName')
  if (given.body !== undefined && given.body !== null) record.body = readAnyValue(given.body, 0)
  record.attributes = attributesOf(given)
  record.droppedAttributesCount = uint32Of(given, 'droppedAttributesCount')
  record.traceId = idOfHex(textOf(given, 'traceId') ?? '', TRACE_ID_SIZE)
  record.spanId = idOfHex(textOf(given, 'spanId') ?? '', SPAN_ID_SIZE)
  record.flags = uint32Of(given, 'flags')
  return record
}

/** @type {(given: Json) => Attributes | undefined} */
function attributesOf (given) {
  const list = listOf(given, 'attributes')
  return list.length === 0 ? undefined : readPairs(list, 0)
}

/** @type {(list: Json[], depth: number) => Attributes} */
function readPairs (list, depth) {
  /** @type {Attributes} */
  const attributes = {}
  for (const pair of list) setAttribute(attributes, textOf(pair, 'key') ?? '', readAnyValue(pair.value ?? {}, depth))
  return attributes
}

/** @type {(given: Json, depth: number) => AnyValue} */
function readAnyValue (given, depth) {
  checkObject(given, 'value')
  // Nearly all values are texts.
  if (typeof given.stringValue === 'string') return given.stringValue
  /** @type {AnyValue} */
  let value = null
  for (const name of Object.keys(given)) {
    if (given[name] !== null) value = readContent(name, given[name], depth, value)
  }
  return value
}

/** @type {(name: string, content: any, depth: number, before: AnyValue) => AnyValue} */
function readContent (name, content, depth, before) {
  switch (name) {
    case 'stringValue': return typeof content === 'string' ? content : mismatch(name, 'a string', content)
    case 'boolValue': return typeof content === 'boolean' ? content : mismatch(name, 'true or false', content)
    case 'intValue': return readInteger(content)
    case 'doubleValue': return readDouble(content)
    case 'bytesValue': return readBase64(content)
    case 'arrayValue': return listIn(content, name, depth + 1).map((item) => readAnyValue(item, depth + 1))
    case 'kvlistValue': return readPairs(listIn(content, name, depth + 1), depth + 1)
    default: checkName(name)
  }
  return before
}

/** @param {string} name */
function checkName (name) {
  const reason = whyNoName(name)
  if (reason !== undefined) throw wrong(reason)
}

/** @type {(content: any, name: string, depth: number) => Json[]} */
function listIn (content, name, depth) {
  if (depth > NESTING_MAX) throw wrong(`values are nested deeper than ${NESTING_MAX} levels`)
  checkObject(content, name)
  return listOf(content, 'values')
}

/** @param {unknown} content */
function readInteger (content) {
  if (typeof content === 'number' && Number.isSafeInteger(content)) return content
  if (typeof content === 'string' && /^-?\d{1,15}$/.test(content)) return Number(content) || 0
  const isWhole = typeof content === 'string' ? /^-?\d{1,20}$/.test(content) : Number.isInteger(content)
  const value = isWhole ? BigInt(/** @type {string | number} */ (content)) : INT64_LIMIT
  if (value < -INT64_LIMIT || value >= INT64_LIMIT) mismatch('intValue', 'a whole number of 64 bits', content)
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

/** @param {unknown} content */
function readDouble (content) {
  if (typeof content === 'number') return showDouble(content)
  if (typeof content !== 'string') return mismatch('doubleValue', 'a number', content)
  if (NOT_FINITE.includes(content)) return content
  return NUMBER.test(content) ? showDouble(Number(content)) : mismatch('doubleValue', 'a number', content)
}

/** @param {unknown} content */
function readBase64 (content) {
  if (typeof content !== 'string' || !BASE64.test(content)) return mismatch('bytesValue', 'base64', content)
  return Buffer.from(content, 'base64').toString('base64')
}

/** @type {(given: Json, name: string) => any[]} */
function listOf (given, name) {
  const value = given[name] ?? []
  if (!Array.isArray(value)) return mismatch(name, 'a list', value)
  for (const item of value) checkObject(item, name)
  return value
}

/** @type {(given: Json, name: string) => Json} */
function objectOf (given, name) {
  const value = given[name] ?? {}
  checkObject(value, name)
  return value
}

/** @type {(given: Json, name: string) => string | undefined} */
function textOf (given, name) {
  const value = given[name] ?? ''
  if (typeof value !== 'string') return mismatch(name, 'a string', value)
  return value === '' ? undefined : value
}

/** @type {(given: Json, name: string) => string | undefined} */
function timeOf (given, name) {
  const value = given[name] ?? 0
  const digits = Number.isInteger(value) && value >= 0 ? String(BigInt(value)) : value
  const isWhole = typeof digits === 'string' && /^\d{1,20}$/.test(digits)
  if (!isWhole || (digits.length === 20 && BigInt(digits) >= UINT64_LIMIT)) mismatch(name, 'nanoseconds since 1970', value)
  return timeOfDigits(digits)
}

/** @type {(given: Json, name: string) => number | undefined} */
function enumOf (given, name) {
  const value = given[name] ?? 0
  if (!Number.isInteger(value) || value < -INT32_LIMIT || value >= INT32_LIMIT) mismatch(name, 'a whole number', value)
  return value || undefined
}

/** @type {(given: Json, name: string) => number | undefined} */
function uint32Of (given, name) {
  const value = given[name] ?? 0
  const number = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value
  if (!Number.isInteger(number) || number < 0 || number >= UINT32_LIMIT) mismatch(name, 'a whole number of 32 bits', value)
  return number || undefined
}

/** @type {(value: any, name: string) => void} */
function checkObject (value, name) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) mismatch(name, 'an object', value)
}

/** @type {(name: string, expected: string, found: unknown) => never} */
function mismatch (name, expected, found) {
  const shown = typeof found === 'object' && found !== null ? (Array.isArray(found) ? 'a list' : 'an object') : JSON.stringify(found)
  throw wrong(`${name} must be ${expected}, got ${shown.slice(0, SHOWN_LENGTH_MAX)}`)
}

/** @type {(reason: string, cause?: unknown) => LogError} */
function wrong (reason, cause) {
  return new LogError('ERR_CODEC_DECODE', `the request is no JSON of OTLP logs: ${reason}`, { cause })
}

exports.readJson = readJson
exports.parseJson = parseJson
exports.readLogRecord = readLogRecord
exports.readResource = readResource
exports.readScope = readScope
exports.readInteger = readInteger
exports.readDouble = readDouble
exports.readBase64 = readBase64
exports.timeOf = timeOf
exports.enumOf = enumOf
exports.uint32Of = uint32Of
