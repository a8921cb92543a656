'use strict'
// Log records of the JSON encoding as protobuf. What a field cannot hold is refused, with the name of the field.

const { misuse, reasonOf } = require('@millrace/errors')
const { ANY_VALUE, KEY_VALUE, LIST, LOG_RECORD, REQUEST, RESOURCE, RESOURCE_LOGS, SCOPE, SCOPE_LOGS } = require('./fields')
const { ProtobufWriter } = require('./protobuf-writer')

/**
 * A value, log record and so on, as the JSON encoding has them.
 * @typedef {{ [kind: string]: any }} JsonAnyValue
 * @typedef {{ key: string, value: JsonAnyValue }} JsonKeyValue
 * @typedef {{ [name: string]: any }} JsonLogRecord
 * @typedef {object} JsonResource
 * @property {JsonKeyValue[]} [attributes]  what describes it
 * @property {number} [droppedAttributesCount]  how many more attributes there were
 * @typedef {JsonResource & { name?: string | undefined, version?: string | undefined }} JsonScope
 *   `name` and `version`: of the library that made the records
 * @typedef {{ scope?: JsonScope, logRecords: Uint8Array[], schemaUrl?: string }} WrittenScopeLogs  records as
 *   `writeLogRecord` gives them
 * @typedef {{ resource?: JsonResource, scopeLogs: WrittenScopeLogs[], schemaUrl?: string }} WrittenResourceLogs
 * @typedef {(writer: ProtobufWriter, tag: number, value: any) => void} WriteField
 */

/** @type {WriteField} */
const text = (writer, tag, value) => writer.text(tag, value)
/** @type {WriteField} */
const int = (writer, tag, value) => writer.int64(tag, BigInt(value))
/** @type {WriteField} */
const count = (writer, tag, value) => writer.uint32(tag, Number(value))
/** @type {WriteField} */
const time = (writer, tag, value) => writer.fixed64(tag, BigInt(value))
/** @type {WriteField} */
const id = (writer, tag, value) => writer.bytes(tag, Buffer.from(value, 'hex'))
/** @type {WriteField} */
const pairs = (writer, tag, value) => { for (const pair of value) writer.message(tag, writePair, pair) }
/** @type {WriteField} */
const anyValue = (writer, tag, value) => writer.message(tag, writeValue, value)

const OF_RECORD = /** @type {Record<string, WriteField>} */ ({
  timeUnixNano: time,
  observedTimeUnixNano: time,
  severityNumber: int,
  severityText: text,
  body: anyValue,
  attributes: pairs,
  droppedAttributesCount: count,
  flags: (writer, tag, value) => writer.fixed32(tag, Number(value)),
  traceId: id,
  spanId: id,
  eventName: text
})
const OF_RESOURCE = { attributes: pairs, droppedAttributesCount: count }
const OF_SCOPE = { name: text, version: text, ...OF_RESOURCE }
const OF_PAIR = { key: text, value: anyValue }
const OF_LIST = { values: anyValue }
const OF_VALUE = /** @type {Record<string, WriteField>} */ ({
  stringValue: text,
  boolValue: (writer, tag, value) => writer.uint32(tag, value ? 1 : 0),
  intValue: int,
  doubleValue: (writer, tag, value) => writer.double(tag, Number(value)),
  arrayValue: (writer, tag, value) => writer.message(tag, writeArray, value),
  kvlistValue: (writer, tag, value) => writer.message(tag, writeMap, value),
  bytesValue: (writer, tag, value) => writer.bytes(tag, Buffer.from(value, 'base64'))
})

/**
 * Makes the protobuf of a log record that is given as the JSON encoding has it.
 * @param {JsonLogRecord} record
 * @returns {Buffer}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function writeLogRecord (record) {
  const writer = new ProtobufWriter()
  writeFields(writer, LOG_RECORD, OF_RECORD, record)
  return writer.finish()
}

/**
 * Makes a request in protobuf. `resourceLogs` is as in the JSON encoding, but each of `logRecords` was made by
 * `writeLogRecord`. For JSON, use `JSON.stringify({ resourceLogs })`.
 * @param {WrittenResourceLogs[]} resourceLogs
 * @returns {Buffer}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function writeProtobuf (resourceLogs) {
  const writer = new ProtobufWriter()
  for (const part of resourceLogs) writer.message(REQUEST.resourceLogs, writeResourceLogs, part)
  return writer.finish()
}

/** @type {(writer: ProtobufWriter, part: WrittenResourceLogs) => void} */
function writeResourceLogs (writer, { resource, scopeLogs, schemaUrl }) {
  if (resource !== undefined) writer.message(RESOURCE_LOGS.resource, writeResource, resource)
  for (const part of scopeLogs) writer.message(RESOURCE_LOGS.scopeLogs, writeScopeLogs, part)
  if (schemaUrl !== undefined) writer.text(RESOURCE_LOGS.schemaUrl, schemaUrl)
}

/** @type {(writer: ProtobufWriter, part: WrittenScopeLogs) => void} */
function writeScopeLogs (writer, { scope, logRecords, schemaUrl }) {
  if (scope !== undefined) writer.message(SCOPE_LOGS.scope, writeScope, scope)
  for (const record of logRecords) writer.bytes(SCOPE_LOGS.logRecords, record)
  if (schemaUrl !== undefined) writer.text(SCOPE_LOGS.schemaUrl, schemaUrl)
}

/** @type {(writer: ProtobufWriter, resource: JsonResource) => void} */
function writeResource (writer, resource) {
  writeFields(writer, RESOURCE, OF_RESOURCE, resource)
}

/** @type {(writer: ProtobufWriter, scope: JsonScope) => void} */
function writeScope (writer, scope) {
  writeFields(writer, SCOPE, OF_SCOPE, scope)
}

/** @type {(writer: ProtobufWriter, pair: JsonKeyValue) => void} */
function writePair (writer, pair) {
  writeFields(writer, KEY_VALUE, OF_PAIR, pair)
}

/** @type {(writer: ProtobufWriter, value: JsonAnyValue) => void} */
function writeValue (writer, value) {
  writeFields(writer, ANY_VALUE, OF_VALUE, value)
}

/** @type {(writer: ProtobufWriter, list: { values?: JsonAnyValue[] }) => void} */
function writeArray (writer, { values = [] }) {
  for (const value of values) writeFields(writer, LIST, OF_LIST, { values: value })
}

/** @type {(writer: ProtobufWriter, list: { values?: JsonKeyValue[] }) => void} */
function writeMap (writer, { values = [] }) {
  pairs(writer, LIST.values, values)
}

/**
 * The members that the message has; others cannot be sent.
 * @param {ProtobufWriter} writer
 * @param {Readonly<Record<string, number>>} tags
 * @param {Record<string, WriteField>} fields
 * @param {Record<string, any>} given
 */
function writeFields (writer, tags, fields, given) {
  for (const [name, write] of Object.entries(fields)) {
    const value = given[name]
    if (value === undefined || value === null) continue
    try {
      write(writer, tags[name], value)
    } catch (err) {
      throw misuse(`${name}: ${reasonOf(err)}`)
    }
  }
}

exports.writeLogRecord = writeLogRecord
exports.writeProtobuf = writeProtobuf
