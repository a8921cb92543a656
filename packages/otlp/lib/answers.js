'use strict'
// What a server answers to a logs request, in both encodings, written and read: the response, which may reject some of
// the records, and the status of a failure.

const { FIELDS, PARTIAL_SUCCESS, RESPONSE, STATUS } = require('./fields')
const { integerOfBits } = require('./log-record')
const { ProtobufReader } = require('./protobuf-reader')
const { ProtobufWriter } = require('./protobuf-writer')

/**
 * @typedef {'protobuf' | 'json'} Encoding
 * @typedef {object} Rejection  neither: all records were taken
 * @property {number} rejectedCount  log records
 * @property {string} message  why; with a count of 0, a warning
 * @typedef {{ code: number, message: string }} Status  `code`: of gRPC
 */

/** The media type of each encoding, for `Content-Type`. */
const MEDIA_TYPES = Object.freeze({ protobuf: 'application/x-protobuf', json: 'application/json' })

/**
 * Makes the answer to a request that succeeded, perhaps in part; `{ rejectedCount: 0, message: '' }` if all records
 * were stored.
 * @type {(encoding: Encoding, rejection: Rejection) => Buffer}
 */
function writeResponse (encoding, { rejectedCount, message }) {
  const isWhole = rejectedCount === 0 && message === ''
  if (encoding === 'json') {
    const rejected = rejectedCount > 0 && { rejectedLogRecords: String(rejectedCount) }
    return Buffer.from(JSON.stringify(isWhole ? {} : { partialSuccess: { ...rejected, errorMessage: message } }))
  }
  const writer = new ProtobufWriter()
  if (!isWhole) writer.message(RESPONSE.partialSuccess, writePartialSuccess, { rejectedCount, message })
  return writer.finish()
}

/** @type {(writer: ProtobufWriter, rejection: Rejection) => void} */
function writePartialSuccess (writer, { rejectedCount, message }) {
  if (rejectedCount > 0) writer.int64(PARTIAL_SUCCESS.rejectedLogRecords, BigInt(rejectedCount))
  writer.text(PARTIAL_SUCCESS.errorMessage, message)
}

/**
 * Makes the answer to a request that failed. `code` is a gRPC status, such as 3 for a bad request.
 * @type {(encoding: Encoding, status: Status) => Buffer}
 */
function writeStatus (encoding, status) {
  if (encoding === 'json') return Buffer.from(JSON.stringify(status))
  const writer = new ProtobufWriter()
  writer.uint32(STATUS.code, status.code)
  writer.text(STATUS.message, status.message)
  return writer.finish()
}

/**
 * Reads the answer to a request that succeeded: look at the HTTP status first.
 * An answer that cannot be read counts as one that rejects nothing.
 * @type {(encoding: Encoding, bytes: Buffer) => Rejection}
 */
function readResponse (encoding, bytes) {
  try {
    return encoding === 'json' ? readJsonResponse(bytes) : readProtobufResponse(bytes)
  } catch {
    return { rejectedCount: 0, message: '' }
  }
}

/** @type {(bytes: Buffer) => Rejection} */
function readJsonResponse (bytes) {
  const { partialSuccess } = JSON.parse(String(bytes))
  const rejectedCount = Number(partialSuccess?.rejectedLogRecords ?? 0)
  return { rejectedCount: rejectedCount > 0 ? rejectedCount : 0, message: String(partialSuccess?.errorMessage ?? '') }
}

/** @type {(bytes: Buffer) => Rejection} */
function readProtobufResponse (bytes) {
  const reader = new ProtobufReader(bytes)
  const rejection = { rejectedCount: 0, message: '' }
  while (reader.at < reader.end) {
    const tag = reader.readTag(reader.end)
    if (tag === RESPONSE.partialSuccess) readPartialSuccess(reader, reader.enter(reader.end), rejection)
    else reader.skip(tag, reader.end, FIELDS.response)
  }
  return rejection
}

/** @type {(reader: ProtobufReader, end: number, rejection: Rejection) => void} */
function readPartialSuccess (reader, end, rejection) {
  while (reader.at < end) {
    const tag = reader.readTag(end)
    if (tag === PARTIAL_SUCCESS.rejectedLogRecords) {
      reader.readVarint(end)
      rejection.rejectedCount = Math.max(0, Number(integerOfBits(reader.low, reader.high)))
    } else if (tag === PARTIAL_SUCCESS.errorMessage) rejection.message = reader.readText(end)
    else reader.skip(tag, end, FIELDS.partialSuccess)
  }
}

/**
 * Reads the answer to a request that failed.
 * Gives the message; null if it is not a status.
 * @type {(encoding: Encoding, bytes: Buffer) => string | null}
 */
function readStatus (encoding, bytes) {
  try {
    if (encoding === 'json') return readJsonStatus(bytes)
    const reader = new ProtobufReader(bytes)
    let message = ''
    while (reader.at < reader.end) {
      const tag = reader.readTag(reader.end)
      if (tag === STATUS.message) message = reader.readText(reader.end)
      else if (tag === STATUS.code) reader.readVarint(reader.end)
      else reader.skip(tag, reader.end, 0)
    }
    return message
  } catch {
    return null
  }
}

/** @type {(bytes: Buffer) => string | null} */
function readJsonStatus (bytes) {
  const { message } = JSON.parse(String(bytes))
  return typeof message === 'string' ? message : null
}

exports.MEDIA_TYPES = MEDIA_TYPES
exports.writeResponse = writeResponse
exports.writeStatus = writeStatus
exports.readResponse = readResponse
exports.readStatus = readStatus
