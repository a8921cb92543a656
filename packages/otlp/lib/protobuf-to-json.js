'use strict'
// A log record in protobuf as JSON text, without a string or an object in between. Fields are written in the order in
// which they come. A record in which that would not do, such as one with a field that comes twice, becomes an object
// first: readers give the same for both.

const { ANY_VALUE, KEY_VALUE, LIST, LOG_RECORD, FIELDS } = require('./fields')
const {
  NAMES, NESTING_MAX, SPAN_ID_SIZE, TRACE_ID_SIZE, integerOfBits, isNewKey, showDouble, splitTime
} = require('./log-record')
const { readLogRecord } = require('./read-protobuf')

/**
 * @typedef {import('./json-writer').JsonWriter} JsonWriter
 * @typedef {import('./protobuf-reader').ProtobufReader} ProtobufReader
 */

/**
 * Writes the members of the record's object, each with a comma after it.
 * @type {(reader: ProtobufReader, end: number, writer: JsonWriter) => void}
 */
function writeMembers (reader, end, writer) {
  const before = { at: reader.at, messagesLeft: reader.messagesLeft, written: writer.at }
  if (writeFields(reader, end, writer)) return
  reader.at = before.at
  reader.messagesLeft = before.messagesLeft
  writer.at = before.written
  writer.members(JSON.stringify(readLogRecord(reader, end)))
}

/** False: not in this way. @type {(reader: ProtobufReader, end: number, writer: JsonWriter) => boolean} */
function writeFields (reader, end, writer) {
  let seen = 0
  while (reader.at < end) {
    const tag = reader.readTag(end)
    const bit = 1 << (tag >>> 3)
    if ((seen & bit) !== 0) return false
    seen |= bit
    switch (tag) {
      case LOG_RECORD.timeUnixNano: writeTime(reader, end, NAMES.time, writer); break
      case LOG_RECORD.observedTimeUnixNano: writeTime(reader, end, NAMES.observedTime, writer); break
      case LOG_RECORD.severityNumber: writeNumber(NAMES.severityNumber, reader.readUint32(end) | 0, writer); break
      case LOG_RECORD.severityText: writeText(reader, end, NAMES.severityText, writer); break
      case LOG_RECORD.eventName: writeText(reader, end, NAMES.eventName, writer); break
      case LOG_RECORD.body:
      case LOG_RECORD.attributes:
        if (!writeValues(reader, tag, end, writer)) return false
        break
      case LOG_RECORD.droppedAttributesCount:
        writeNumber(NAMES.droppedAttributesCount, reader.readUint32(end), writer)
        break
      case LOG_RECORD.traceId: writeId(reader, end, NAMES.traceId, TRACE_ID_SIZE, writer); break
      case LOG_RECORD.spanId: writeId(reader, end, NAMES.spanId, SPAN_ID_SIZE, writer); break
      case LOG_RECORD.flags: writeNumber(NAMES.flags, reader.readFixed32(end), writer); break
      default: reader.skip(tag, end, FIELDS.logRecord)
    }
  }
  return true
}

/**
 * The body, or all attributes.
 * @type {(reader: ProtobufReader, tag: number, end: number, writer: JsonWriter) => boolean}
 */
function writeValues (reader, tag, end, writer) {
  const isBody = tag === LOG_RECORD.body
  writer.raw(isBody ? NAMES.body : NAMES.attributes)
  const isWritten = isBody
    ? writeAnyValue(reader, reader.enter(end), writer, 0)
    : writePairs(reader, tag, end, writer, 0)
  writer.comma()
  return isWritten
}

/** @type {(reader: ProtobufReader, end: number, name: Buffer, writer: JsonWriter) => void} */
function writeTime (reader, end, name, writer) {
  reader.readFixed64(end)
  if (reader.low === 0 && reader.high === 0) return
  const { seconds, nanoseconds } = splitTime(reader.low, reader.high)
  writer.raw(name)
  writer.time(seconds, nanoseconds)
  writer.comma()
}

/** @type {(name: Buffer, value: number, writer: JsonWriter) => void} */
function writeNumber (name, value, writer) {
  if (value === 0) return
  writer.raw(name)
  writer.word(String(value))
  writer.comma()
}

/** @type {(reader: ProtobufReader, end: number, name: Buffer, writer: JsonWriter) => void} */
function writeText (reader, end, name, writer) {
  const from = reader.readSized(end)
  if (reader.at === from) return
  writer.raw(name)
  writer.string(reader.bytes, from, reader.at)
  writer.comma()
}

/** @type {(reader: ProtobufReader, end: number, name: Buffer, size: number, writer: JsonWriter) => void} */
function writeId (reader, end, name, size, writer) {
  const from = reader.readSized(end)
  const to = reader.at
  if (to - from !== size || isZero(reader.bytes, from, to)) return
  writer.raw(name)
  writer.hex(reader.bytes, from, to)
  writer.comma()
}

/** @type {(bytes: Uint8Array, from: number, to: number) => boolean} */
function isZero (bytes, from, to) {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false
  return true
}

/**
 * An object of the pairs that follow one another, of which the first tag has been read.
 * @type {(reader: ProtobufReader, tag: number, end: number, writer: JsonWriter, depth: number) => boolean}
 */
function writePairs (reader, tag, end, writer, depth) {
  /** Where each key begins and ends. @type {number[]} */
  const keys = []
  writer.openObject()
  do {
    const pairEnd = reader.enter(end)
    if (!reader.readIfTag(KEY_VALUE.key, pairEnd)) return false
    const from = reader.readSized(pairEnd)
    if (!isNewKey(reader.bytes, from, reader.at, keys)) return false
    writer.string(reader.bytes, from, reader.at)
    writer.colon()
    if (reader.at === pairEnd) writer.word('null')
    else if (!reader.readIfTag(KEY_VALUE.value, pairEnd)) return false
    else if (!writeAnyValue(reader, reader.enter(pairEnd), writer, depth)) return false
    if (reader.at !== pairEnd) return false
    writer.comma()
  } while (reader.readIfTag(tag, end))
  writer.closeObject()
  return true
}

/** @type {(reader: ProtobufReader, end: number, writer: JsonWriter, depth: number) => boolean} */
function writeAnyValue (reader, end, writer, depth) {
  if (reader.at === end) {
    writer.word('null')
    return true
  }
  switch (reader.readTag(end)) {
    case ANY_VALUE.stringValue: {
      const from = reader.readSized(end)
      writer.string(reader.bytes, from, reader.at)
      break
    }
    case ANY_VALUE.boolValue: writer.word(reader.readBool(end) ? 'true' : 'false'); break
    case ANY_VALUE.intValue:
      reader.readVarint(end)
      writer.scalar(integerOfBits(reader.low, reader.high))
      break
    case ANY_VALUE.doubleValue: writer.scalar(showDouble(reader.readDouble(end))); break
    case ANY_VALUE.bytesValue: {
      const from = reader.readSized(end)
      writer.base64(reader.bytes, from, reader.at)
      break
    }
    case ANY_VALUE.arrayValue:
      if (!writeArray(reader, reader.enter(end), writer, depth + 1)) return false
      break
    case ANY_VALUE.kvlistValue:
      if (!writeMap(reader, reader.enter(end), writer, depth + 1)) return false
      break
    default: return false
  }
  return reader.at === end
}

/** @type {(reader: ProtobufReader, end: number, writer: JsonWriter, depth: number) => boolean} */
function writeArray (reader, end, writer, depth) {
  if (depth > NESTING_MAX) return false
  writer.openArray()
  while (reader.readIfTag(LIST.values, end)) {
    if (!writeAnyValue(reader, reader.enter(end), writer, depth)) return false
    writer.comma()
  }
  writer.closeArray()
  return reader.at === end
}

/** @type {(reader: ProtobufReader, end: number, writer: JsonWriter, depth: number) => boolean} */
function writeMap (reader, end, writer, depth) {
  if (depth > NESTING_MAX) return false
  if (reader.at === end) writer.word('{}')
  else if (!reader.readIfTag(LIST.values, end) || !writePairs(reader, LIST.values, end, writer, depth)) return false
  return reader.at === end
}

exports.writeMembers = writeMembers
