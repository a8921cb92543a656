'use strict'
// A sink that sends batches to a collector of OpenTelemetry: OTLP/HTTP, logs, in JSON or protobuf.

const { misuse } = require('@millrace/errors')
const { MEDIA_TYPES, readResponse, readStatus, writeLogRecord, writeProtobuf } = require('@millrace/otlp')
const { checkObject } = require('../options')
const { HttpPost, HTTP_OPTIONS } = require('./http-post')
const { formatAll } = require('./lines')
const { attribute, toLogRecord } = require('./otlp-record')

const PATH = '/v1/logs'
const SCOPE = { name: '@millrace/forwarder' }

/**
 * @typedef {import('./otlp-record').LogRecord} LogRecord
 * @typedef {import('./otlp-record').Origin} Origin
 * @typedef {import('@millrace/otlp').Encoding} Encoding
 * @typedef {import('../options').SinkRecord} SinkRecord
 */

/**
 * @typedef {object} OwnOptions
 * @property {Record<string, unknown> | undefined} [resource]  attributes of all records, such as `service.name`
 * @property {{ name: string, version?: string, attributes?: Record<string, unknown> } | undefined} [scope]
 * @property {((logRecord: LogRecord, record: SinkRecord) => LogRecord) | undefined} [map]  may change what is sent
 * @property {Encoding | undefined} [encoding]  `json` by default
 * @typedef {import('./http-post').HttpOptions & OwnOptions} OtlpSinkOptions
 */

/**
 * @typedef {object} Writer
 * @property {(record: LogRecord) => any} writeRecord
 * @property {(resourceLogs: any[]) => string | Buffer} writeRequest  of records that were written
 */

/** @type {Record<Encoding, Writer>} */
const WRITERS = {
  json: { writeRecord: (record) => record, writeRequest: (resourceLogs) => JSON.stringify({ resourceLogs }) },
  protobuf: { writeRecord: writeLogRecord, writeRequest: writeProtobuf }
}

/**
 * @param {string | URL} url  of the collector; without a path, `/v1/logs` is added
 * @param {OtlpSinkOptions} [options]
 * @returns {import('../options').Sink}
 */
function otlpSink (url, options = {}) {
  checkObject('otlpSink', options, [...HTTP_OPTIONS, 'resource', 'scope', 'map', 'encoding'])
  const { resource = {}, scope, map, encoding = 'json', ...httpOptions } = options
  if (resource === null || typeof resource !== 'object') throw misuse('otlpSink: resource must be an object of attributes')
  if (scope !== undefined && typeof scope?.name !== 'string') throw misuse('otlpSink: scope must have a name')
  if (map !== undefined && typeof map !== 'function') throw misuse('otlpSink: map must be a function')
  if (!Object.hasOwn(WRITERS, encoding)) throw misuse(`otlpSink: encoding must be one of ${Object.keys(WRITERS).join(', ')}`)
  const describe = (/** @type {Buffer} */ body) => readStatus(encoding, body) ?? String(body)
  const http = new HttpPost('otlpSink', addPath(url), httpOptions, describe)
  const { writeRecord, writeRequest } = WRITERS[encoding]
  const shared = Object.entries(resource).map(([key, value]) => attribute(key, value))
  return {
    send: async (records, context) => {
      const { chunks, refused } = formatAll(records, (record) => {
        const made = toLogRecord(record.value, `${context.log}-${record.seq}`, scope !== undefined)
        return { ...made, record: writeRecord(map ? map(made.record, record) : made.record) }
      })
      if (chunks.length === 0) return { refused }
      const content = writeRequest(group(chunks, shared, scope))
      const answer = await http.post(content, { 'content-type': MEDIA_TYPES[encoding] }, context)
      return { refused, ...readPartialSuccess(encoding, answer.body) }
    },
    close: () => http.close()
  }
}

/** @param {string | URL} url */
function addPath (url) {
  if (!URL.canParse(String(url))) return url
  const parsed = new URL(url)
  if (parsed.pathname === '/') parsed.pathname = PATH
  return parsed
}

/**
 * Neighbours with the same origin share a resource and a scope. The order stays.
 * @template T
 * @param {Array<{ record: T, origin: Origin }>} made  `record`: as it is written
 * @param {import('./otlp-record').KeyValue[]} shared
 * @param {OwnOptions['scope']} scope
 */
function group (made, shared, scope) {
  const groups = []
  let last = null
  for (const { record, origin } of made) {
    const name = JSON.stringify(origin)
    if (last === null || last.name !== name) {
      last = { name, logRecords: /** @type {T[]} */ ([]) }
      groups.push({
        resource: { attributes: [...shared, ...origin.resource] },
        scopeLogs: [{ scope: toScope(scope, origin.logger), logRecords: last.logRecords }]
      })
    }
    last.logRecords.push(record)
  }
  return groups
}

/** @type {(scope: OwnOptions['scope'], logger: string | null) => object} */
function toScope (scope, logger) {
  if (scope === undefined) return logger === null ? SCOPE : { name: logger }
  const { name, version, attributes = {} } = scope
  return { name, version, attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)) }
}

/**
 * A collector that accepts may still have refused some records. It does not say which, and forbids another try.
 * @type {(encoding: Encoding, body: Buffer) => import('../options').Answer}
 */
function readPartialSuccess (encoding, body) {
  const { rejectedCount: refusedCount, message } = readResponse(encoding, body)
  return refusedCount > 0 ? { refusedCount, message: message || 'rejected' } : {}
}

exports.otlpSink = otlpSink
