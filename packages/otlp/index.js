'use strict'
// OTLP logs, in protobuf and JSON: requests as log records, records as requests, and the answers of a server.

const { MEDIA_TYPES, readResponse, readStatus, writeResponse, writeStatus } = require('./lib/answers')
const { readAsJson } = require('./lib/read-as-json')
const { readJson } = require('./lib/read-json')
const { RequestReader } = require('./lib/request-reader')
const { readProtobuf } = require('./lib/read-protobuf')
const { writeLogRecord, writeProtobuf } = require('./lib/write-protobuf')

/**
 * @typedef {import('./lib/answers').Encoding} Encoding
 * @typedef {import('./lib/answers').Rejection} Rejection
 * @typedef {import('./lib/answers').Status} Status
 * @typedef {import('./lib/log-record').AnyValue} AnyValue
 * @typedef {import('./lib/log-record').Attributes} Attributes
 * @typedef {import('./lib/log-record').LogGroup} LogGroup
 * @typedef {import('./lib/log-record').LogRecord} LogRecord
 * @typedef {import('./lib/log-record').Resource} Resource
 * @typedef {import('./lib/log-record').Scope} Scope
 * @typedef {import('./lib/write-protobuf').WrittenResourceLogs} WrittenResourceLogs
 */

exports.MEDIA_TYPES = MEDIA_TYPES
exports.RequestReader = RequestReader
exports.readAsJson = readAsJson
exports.readJson = readJson
exports.readProtobuf = readProtobuf
exports.readResponse = readResponse
exports.readStatus = readStatus
exports.writeLogRecord = writeLogRecord
exports.writeProtobuf = writeProtobuf
exports.writeResponse = writeResponse
exports.writeStatus = writeStatus
