'use strict'
// A record as a log record of OpenTelemetry, in the JSON encoding of OTLP: camelCase names, 64-bit integers as strings,
// ids in hex. The fields are those that pino, winston and bunyan write; all others become attributes.
// https://opentelemetry.io/docs/specs/otel/logs/data-model/ and https://opentelemetry.io/docs/specs/otlp/

const NESTING_MAX = 32
const INT64_MAX = 2n ** 63n - 1n

/** The names that a field may have; the first one that is there counts. */
const TIME = ['time', 'timestamp', '@timestamp', 'ts']
const LEVEL = ['level', 'severity']
const MESSAGE = ['msg', 'message']
const TRACE_ID = ['trace_id', 'traceId']
const SPAN_ID = ['span_id', 'spanId']
const TRACE_FLAGS = ['trace_flags', 'traceFlags']
const ERROR = ['err', 'error']

/** The first of the four severity numbers of each name in the data model, and of names that mean the same. */
const SEVERITIES = new Map([
  [1, 'trace silly finest'],
  [5, 'debug verbose fine'],
  [9, 'info information http log'],
  [10, 'notice'],
  [13, 'warn warning'],
  [17, 'error err'],
  [18, 'critical crit'],
  [19, 'alert'],
  [21, 'fatal emergency emerg panic']
].flatMap(([number, names]) => String(names).split(' ').map((name) => /** @type {const} */ ([name, Number(number)]))))
/** pino's and bunyan's names of 10, 20 and so on. */
const LABELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']

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
  const record = { observedTimeUnixNano: toNanoseconds(Date.now()), attributes: [attribute('log.record.uid', uid)] }
  /** @type {Origin} */
  const origin = { resource: [], logger: null }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed) || parsed instanceof Uint8Array) {
    record.body = toAnyValue(parsed)
    return { record, origin }
  }
  const fields = new Map(Object.entries(parsed))
  take(fields, TIME, (time) => setTime(record, time))
  take(fields, LEVEL, (level) => setSeverity(record, level))
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

/** Ms since 1970, or a date. @type {(record: LogRecord, time: any) => boolean} */
function setTime (record, time) {
  const ms = typeof time === 'string' ? Date.parse(time) : time instanceof Date ? time.getTime() : time
  if (typeof ms !== 'number' || !(ms >= 0 && ms < 2 ** 43)) return false
  record.timeUnixNano = toNanoseconds(ms)
  return true
}

/** @param {number} ms  since 1970, perhaps with a fraction */
function toNanoseconds (ms) {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}

/** @type {(record: LogRecord, level: any) => boolean} */
function setSeverity (record, level) {
  if (typeof level === 'number' && level >= 10 && level < 70) {
    const index = Math.floor(level / 10) - 1
    // Levels between pino's are between its severities: four numbers each.
    record.severityNumber = 1 + 4 * index + Math.floor((level % 10) / 2.5)
    record.severityText = LABELS[index]
    return true
  }
  if (typeof level !== 'string') return false
  const number = SEVERITIES.get(level.toLowerCase())
  if (number !== undefined) record.severityNumber = number
  record.severityText = wellFormed(level)
  return true
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
  if (!(value instanceof Uint8Array)) return value
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
  if (value instanceof Date) return { stringValue: Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString() }
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString('base64') }
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
