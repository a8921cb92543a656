'use strict'
// A record as a log record of OpenTelemetry, in the JSON encoding of OTLP: camelCase names, 64-bit integers as strings,
// ids in hex. The fields are those that pino, winston and bunyan write; all others become attributes.
// https://opentelemetry.io/docs/specs/otel/logs/data-model/ and https://opentelemetry.io/docs/specs/otlp/

const { isDate, isUint8Array } = require('node:util').types
const { findLevel, findTime, labelOf, toNanoseconds } = require('@millrace/where')

const NESTING_MAX = 32
/** What 64 bits of nanoseconds hold. */
const MS_MAX = 2 ** 43
const INT64_MAX = 2n ** 63n - 1n

/** The names that a field may have; the first one that is there counts. */
const MESSAGE = ['msg', 'message']
const TRACE_ID = ['trace_id', 'traceId']
const SPAN_ID = ['span_id', 'spanId']
const TRACE_FLAGS = ['trace_flags', 'traceFlags']
const ERROR = ['err', 'error']

/**
 * @typedef {{ [kind: string]: unknown }} AnyValue
 * @typedef {{ key: string, value: AnyValue }} KeyValue
 */

/**
 * @typedef {object} LogRecord
 * @property {string} [timeUnixNano]
 * @property {string} observedTimeUnixNano
 * @property {number} [severityNumber]
 * @property {string} [severityText]
 * @property {AnyValue} [body]
 * @property {KeyValue[]} attributes
 * @property {string} [traceId]
 * @property {string} [spanId]
 * @property {number} [flags]
 */

/**
 * What the records of one process and one logger share.
 * @typedef {object} Origin
 * @property {KeyValue[]} resource  attributes
 * @property {string | null} logger
 */

/**
 * @param {any} value
 * @param {string} uid  of the record
 * @param {boolean} hasScope  whether the user has named the scope: then `name` is an attribute
 * @returns {{ record: LogRecord, origin: Origin }}
 */
function toLogRecord (value, uid, hasScope) {
  const parsed = parseBytes(value)
  /** @type {LogRecord} */
  const record = { observedTimeUnixNano: toNanoseconds({ ms: Date.now(), nanoseconds: 0 }), attributes: [attribute('log.record.uid', uid)] }
  /** @type {Origin} */
  const origin = { resource: [], logger: null }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || isUint8Array(parsed)) {
    record.body = toAnyValue(parsed)
    return { record, origin }
  }
  const fields = new Map(Object.entries(parsed))
  setTime(record, fields, parsed)
  setSeverity(record, fields, parsed)
  take(fields, MESSAGE, (message) => { record.body = toAnyValue(message) })
  take(fields, TRACE_ID, (id) => setId(record, 'traceId', id, 32))
  take(fields, SPAN_ID, (id) => setId(record, 'spanId', id, 16))
  take(fields, TRACE_FLAGS, (flags) => setFlags(record, flags))
  take(fields, ERROR, (err) => addException(record, err))
  take(fields, ['hostname'], (host) => typeof host === 'string' && origin.resource.push(attribute('host.name', host)))
  take(fields, ['pid'], (pid) => Number.isSafeInteger(pid) && origin.resource.push(attribute('process.pid', pid)))
  if (!hasScope) take(fields, ['name'], (name) => typeof name === 'string' && (origin.logger = wellFormed(name)))
  for (const [key, field] of fields) if (field !== undefined) record.attributes.push(attribute(key, field))
  return { record, origin }
}

/**
 * Hands on the first of these fields that is there. It is gone then, unless `use` returns false: then it is an
 * attribute like others.
 * @type {(fields: Map<string, any>, names: string[], use: (field: any) => unknown) => void}
 */
function take (fields, names, use) {
  const name = names.find((name) => fields.has(name))
  if (name !== undefined && use(fields.get(name)) !== false) fields.delete(name)
}

/** @type {(record: LogRecord, fields: Map<string, any>, parsed: object) => void} */
function setTime (record, fields, parsed) {
  const found = findTime(parsed)
  if (found === null || found.ms < 0 || found.ms >= MS_MAX) return
  record.timeUnixNano = toNanoseconds(found)
  forget(fields, found.path)
}

/**
 * A name that nobody knows is sent as it is.
 * @type {(record: LogRecord, fields: Map<string, any>, parsed: object) => void}
 */
function setSeverity (record, fields, parsed) {
  const found = findLevel(parsed)
  if (found?.isSure) {
    const { severity, level, value, path } = found
    record.severityNumber = severity
    record.severityText = typeof value === 'string' && !/^\s*-?\d/.test(value) ? wellFormed(value) : labelOf(level).toUpperCase()
    forget(fields, path)
  }
  take(fields, found?.isSure ? ['severityText'] : ['level', 'severity', 'severityText'], (text) => {
    if (typeof text !== 'string') return false
    record.severityText = wellFormed(text)
  })
}

/** What is inside of a field stays there. @type {(fields: Map<string, any>, path: string[]) => void} */
function forget (fields, path) {
  if (path.length === 1) fields.delete(path[0])
}

/** @type {(record: LogRecord, name: 'traceId' | 'spanId', id: any, length: number) => boolean} */
function setId (record, name, id, length) {
  if (typeof id !== 'string' || id.length !== length || !/^[0-9a-f]+$/i.test(id) || /^0+$/.test(id)) return false
  record[name] = id.toLowerCase()
  return true
}

/** A number, or two hex digits as in `traceparent`. @type {(record: LogRecord, flags: any) => boolean} */
function setFlags (record, flags) {
  const number = typeof flags === 'string' && /^[0-9a-f]{2}$/i.test(flags) ? parseInt(flags, 16) : flags
  if (!Number.isInteger(number) || number < 0 || number > 255) return false
  record.flags = number
  return true
}

/** An error as pino's serializer writes it. @type {(record: LogRecord, err: any) => boolean} */
function addException (record, err) {
  if (typeof err?.message !== 'string') return false
  const { type = err.name, message, stack, ...rest } = err
  record.attributes.push(attribute('exception.message', message))
  if (typeof type === 'string') record.attributes.push(attribute('exception.type', type))
  if (typeof stack === 'string') record.attributes.push(attribute('exception.stacktrace', stack))
  delete rest.name
  if (Object.keys(rest).length > 0) record.attributes.push(attribute('exception', rest))
  return true
}

/** A log that was opened without a codec gives bytes, which may be JSON. @param {any} value */
function parseBytes (value) {
  if (!isUint8Array(value)) return value
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  const text = bytes.toString()
  try {
    return JSON.parse(text)
  } catch {
    return Buffer.from(text).equals(bytes) ? text : value
  }
}

/** @type {(key: string, value: any) => KeyValue} */
function attribute (key, value) {
  return { key: wellFormed(key), value: toAnyValue(value) }
}

/** @type {(value: any, depth?: number) => AnyValue} */
function toAnyValue (value, depth = 0) {
  switch (typeof value) {
    case 'string': return { stringValue: wellFormed(value) }
    case 'boolean': return { boolValue: value }
    case 'number': return toNumber(value)
    case 'bigint': return toBigInt(value)
    case 'object': return value === null ? {} : toObject(value, depth)
    default: return {}
  }
}

/** @type {(value: number) => AnyValue} */
function toNumber (value) {
  if (Number.isSafeInteger(value)) return { intValue: String(value) }
  return { doubleValue: Number.isFinite(value) ? value : String(value) }
}

/** @type {(value: bigint) => AnyValue} */
function toBigInt (value) {
  const isInt64 = value >= -INT64_MAX - 1n && value <= INT64_MAX
  return isInt64 ? { intValue: String(value) } : { stringValue: String(value) }
}

/** @type {(value: any, depth: number) => AnyValue} */
function toObject (value, depth) {
  if (isDate(value)) return { stringValue: Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString() }
  if (isUint8Array(value)) return { bytesValue: Buffer.from(value).toString('base64') }
  if (depth >= NESTING_MAX) return { stringValue: 'nested too deeply' }
  if (Array.isArray(value)) return { arrayValue: { values: value.map((item) => toAnyValue(item, depth + 1)) } }
  const pairs = Object.entries(value)
  const values = pairs.map(([key, item]) => ({ key: wellFormed(key), value: toAnyValue(item, depth + 1) }))
  return { kvlistValue: { values } }
}

/** Half a character cannot be UTF-8, and a collector would refuse the whole batch. @param {string} text */
function wellFormed (text) {
  return /** @type {any} */ (text).toWellFormed()
}

exports.toLogRecord = toLogRecord
exports.attribute = attribute
