'use strict'
// A logs request in protobuf, as log records. A message may have its fields in any order and more than once: of a
// single value the last one counts, and parts of one message in several pieces add up.

const {
  ANY_VALUE, FIELDS, KEY_VALUE, LIST, LOG_RECORD, REQUEST, RESOURCE, RESOURCE_LOGS, SCOPE, SCOPE_LOGS
} = require('./fields')
const { ProtobufReader } = require('./protobuf-reader')
const {
  NESTING_MAX, SPAN_ID_SIZE, TRACE_ID_SIZE, emptyRecord, emptyResource, emptyScope, idOfHex, integerOfBits,
  setAttribute, showDouble, timeOfBits, tooMany
} = require('./log-record')

/**
 * @typedef {import('./log-record').AnyValue} AnyValue
 * @typedef {import('./log-record').Attributes} Attributes
 * @typedef {import('./log-record').LogGroup} LogGroup
 * @typedef {import('./log-record').LogRecord} LogRecord
 * @typedef {import('./log-record').ReadLimits} ReadLimits
 * @typedef {import('./log-record').Resource} Resource
 * @typedef {import('./log-record').Scope} Scope
 */

/**
 * @template T
 * @typedef {import('./log-record').Group<T>} Group
 */

/**
 * Reads all log records of a request in protobuf: an array of groups `{ resource, scope, records }`. It refuses what
 * is cut off, has lengths beyond its end, a wrong wire type or a value of the wrong kind, arrays and key-value lists
 * more than 64 levels deep, and more than 2,000,000 nested messages. Unknown fields are ignored.
 * @param {Uint8Array} bytes
 * @param {ReadLimits} limits
 * @returns {LogGroup[]}
 * @throws {LogError} ERR_CODEC_DECODE with `offset`; ERR_RECORD_TOO_LARGE beyond the limits
 */
function readProtobuf (bytes, { countMax }) {
  return readGroups(new ProtobufReader(bytes), countMax, readLogRecord)
}

/**
 * What a reader of requests gathers.
 * @template T
 * @typedef {object} Gathered
 * @property {Array<Group<T>>} groups
 * @property {number} left  how many log records may still come
 * @property {(reader: ProtobufReader, end: number) => T} takeRecord  makes something of the log record that begins here
 */

/**
 * @template T
 * @param {ProtobufReader} reader
 * @param {number} countMax
 * @param {Gathered<T>['takeRecord']} takeRecord
 */
function readGroups (reader, countMax, takeRecord) {
  /** @type {Gathered<T>} */
  const gathered = { groups: [], left: countMax, takeRecord }
  while (reader.at < reader.end) {
    const tag = reader.readTag(reader.end)
    if (tag !== REQUEST.resourceLogs) reader.skip(tag, reader.end, FIELDS.request)
    else readResourceLogs(reader, reader.enter(reader.end), gathered)
    if (gathered.left < 0) throw tooMany(countMax)
  }
  return gathered.groups
}

/** @type {<T>(reader: ProtobufReader, end: number, gathered: Gathered<T>) => void} */
function readResourceLogs (reader, end, gathered) {
  const resource = emptyResource()
  while (reader.at < end && gathered.left >= 0) {
    const tag = reader.readTag(end)
    if (tag === RESOURCE_LOGS.scopeLogs) readScopeLogs(reader, reader.enter(end), resource, gathered)
    else if (tag === RESOURCE_LOGS.resource) readResource(reader, reader.enter(end), resource)
    else if (tag === RESOURCE_LOGS.schemaUrl) resource.schemaUrl = present(reader.readText(end))
    else reader.skip(tag, end, FIELDS.resourceLogs)
  }
}

/** @type {(reader: ProtobufReader, end: number, resource: Resource) => void} */
function readResource (reader, end, resource) {
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === RESOURCE.attributes) readKeyValue(reader, reader.enter(end), resource.attributes ??= {}, 0)
    else if (tag === RESOURCE.droppedAttributesCount) resource.droppedAttributesCount = present(reader.readUint32(end))
    else reader.skip(tag, end, FIELDS.resource)
  }
}

/** @type {<T>(reader: ProtobufReader, end: number, resource: Resource, gathered: Gathered<T>) => void} */
function readScopeLogs (reader, end, resource, gathered) {
  const scope = emptyScope()
  const { groups, left, takeRecord } = gathered
  /** @type {ReturnType<typeof takeRecord>[]} */
  const records = []
  while (reader.at < end && records.length <= left) {
    const tag = reader.readTag(end)
    if (tag === SCOPE_LOGS.logRecords) records.push(takeRecord(reader, reader.enter(end)))
    else if (tag === SCOPE_LOGS.scope) readScope(reader, reader.enter(end), scope)
    else if (tag === SCOPE_LOGS.schemaUrl) scope.schemaUrl = present(reader.readText(end))
    else reader.skip(tag, end, FIELDS.scopeLogs)
  }
  if (records.length > 0) groups.push({ resource, scope, records })
  gathered.left -= records.length
}

/** @type {(reader: ProtobufReader, end: number, scope: Scope) => void} */
function readScope (reader, end, scope) {
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === SCOPE.name) scope.name = present(reader.readText(end))
    else if (tag === SCOPE.version) scope.version = present(reader.readText(end))
    else if (tag === SCOPE.attributes) readKeyValue(reader, reader.enter(end), scope.attributes ??= {}, 0)
    else if (tag === SCOPE.droppedAttributesCount) scope.droppedAttributesCount = present(reader.readUint32(end))
    else reader.skip(tag, end, FIELDS.scope)
  }
}

/** @type {(reader: ProtobufReader, end: number) => LogRecord} */
function readLogRecord (reader, end) {
  const record = emptyRecord()
  while (reader.at < end) readField(reader, end, record)
  return record
}

/** @type {(reader: ProtobufReader, end: number, record: LogRecord) => void} */
function readField (reader, end, record) {
  const tag = reader.readTag(end)
  switch (tag) {
    case LOG_RECORD.timeUnixNano: record.time = readTime(reader, end); break
    case LOG_RECORD.observedTimeUnixNano: record.observedTime = readTime(reader, end); break
    case LOG_RECORD.severityNumber: record.severityNumber = present(reader.readUint32(end) | 0); break
    case LOG_RECORD.severityText: record.severityText = present(reader.readText(end)); break
    case LOG_RECORD.eventName: record.eventName = present(reader.readText(end)); break
    case LOG_RECORD.body: record.body = readAnyValue(reader, reader.enter(end), 0); break
    case LOG_RECORD.attributes: readKeyValue(reader, reader.enter(end), record.attributes ??= {}, 0); break
    case LOG_RECORD.droppedAttributesCount: record.droppedAttributesCount = present(reader.readUint32(end)); break
    case LOG_RECORD.traceId: record.traceId = readId(reader, end, TRACE_ID_SIZE); break
    case LOG_RECORD.spanId: record.spanId = readId(reader, end, SPAN_ID_SIZE); break
    case LOG_RECORD.flags: record.flags = present(reader.readFixed32(end)); break
    default: reader.skip(tag, end, FIELDS.logRecord)
  }
}

/** A field that is empty is as good as one that was not sent. @template T @param {T} value */
function present (value) {
  return value || undefined
}

/** @type {(reader: ProtobufReader, end: number) => string | undefined} */
function readTime (reader, end) {
  reader.readFixed64(end)
  return timeOfBits(reader.low, reader.high)
}

/** @type {(reader: ProtobufReader, end: number, size: number) => string | undefined} */
function readId (reader, end, size) {
  return idOfHex(reader.readHex(end, size), size)
}

/** @type {(reader: ProtobufReader, end: number, attributes: Attributes, depth: number) => void} */
function readKeyValue (reader, end, attributes, depth) {
  let key = ''
  /** @type {AnyValue} */
  let value = null
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === KEY_VALUE.key) key = reader.readText(end)
    else if (tag === KEY_VALUE.value) value = readAnyValue(reader, reader.enter(end), depth)
    else reader.skip(tag, end, FIELDS.keyValue)
  }
  setAttribute(attributes, key, value)
}

/** @type {(reader: ProtobufReader, end: number, depth: number) => AnyValue} */
function readAnyValue (reader, end, depth) {
  /** @type {AnyValue} */
  let value = null
  while (reader.at < end) {
    const tag = reader.readTag(end)
    switch (tag) {
      case ANY_VALUE.stringValue: value = reader.readText(end); break
      case ANY_VALUE.boolValue: value = reader.readBool(end); break
      case ANY_VALUE.intValue:
        reader.readVarint(end)
        value = integerOfBits(reader.low, reader.high)
        break
      case ANY_VALUE.doubleValue: value = showDouble(reader.readDouble(end)); break
      case ANY_VALUE.arrayValue: value = readArray(reader, reader.enter(end), depth + 1); break
      case ANY_VALUE.kvlistValue: value = readMap(reader, reader.enter(end), depth + 1); break
      case ANY_VALUE.bytesValue: value = reader.readBytes(end).toString('base64'); break
      default: reader.skip(tag, end, FIELDS.anyValue)
    }
  }
  return value
}

/** @type {(reader: ProtobufReader, end: number, depth: number) => AnyValue[]} */
function readArray (reader, end, depth) {
  if (depth > NESTING_MAX) throw reader.wrong(`values are nested deeper than ${NESTING_MAX} levels`)
  /** @type {AnyValue[]} */
  const values = []
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === LIST.values) values.push(readAnyValue(reader, reader.enter(end), depth))
    else reader.skip(tag, end, FIELDS.list)
  }
  return values
}

/** @type {(reader: ProtobufReader, end: number, depth: number) => Attributes} */
function readMap (reader, end, depth) {
  if (depth > NESTING_MAX) throw reader.wrong(`values are nested deeper than ${NESTING_MAX} levels`)
  /** @type {Attributes} */
  const map = {}
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === LIST.values) readKeyValue(reader, reader.enter(end), map, depth)
    else reader.skip(tag, end, FIELDS.list)
  }
  return map
}

exports.readProtobuf = readProtobuf
exports.readGroups = readGroups
exports.readLogRecord = readLogRecord
exports.readResource = readResource
exports.readScope = readScope
exports.present = present
