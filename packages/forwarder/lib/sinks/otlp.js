'use strict'
// A sink that sends batches to a collector of OpenTelemetry: OTLP/HTTP, logs, in JSON or protobuf.

const { checkOptions, misuse, reasonOf } = require('@millrace/errors')
const { MEDIA_TYPES, readResponse, readStatus, writeLogRecord, writeProtobuf } = require('@millrace/otlp')
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
 * @property {Record<string, unknown> | undefined} [resource]  attributes of all records. Give `service.name` at least
 * @property {{ name: string, version?: string, attributes?: Record<string, unknown> } | undefined} [scope]  the
 *   instrumentation scope. By default its name is the record's `name`, as pino writes it
 * @property {((logRecord: LogRecord, record: SinkRecord) => LogRecord) | undefined} [map]  may change what is sent. A
 *   log record has the form of the JSON encoding of OTLP
 * @property {Encoding | undefined} [encoding]  `'json'` by default; `'protobuf'` takes about half the bytes
 * @typedef {import('./http-post').HttpOptions & OwnOptions} OtlpSinkOptions
 */

/**
 * @typedef {object} Writer
 * @property {(record: LogRecord) => any} writeRecord
 * @property {(resourceLogs: any[]) => string | Buffer} writeRequest  of records that were written
 */

/** @type {Record<Encoding, Writer>} */
const WRITERS = {
  json: { writeRecord: JSON.stringify, writeRequest: joinJson },
  protobuf: { writeRecord: writeLogRecord, writeRequest: writeProtobuf }
}

/**
 * Makes a sink that sends logs by OTLP/HTTP to an OpenTelemetry Collector, to `@millrace/ingest`, or to another
 * server that takes it. Its options are those of `httpSink` except `format`, and its own.
 *
 * The time and the level are found wherever a logger writes them: they become `timeUnixNano`, to the nanosecond if
 * the record has it, and `severityNumber` with `severityText`. A number that could have come from several scales
 * stays an attribute; an unknown name is sent as `severityText`. `msg` or `message` becomes `body`. `trace_id`,
 * `span_id` and `trace_flags`, also in camelCase, become `traceId`, `spanId` and `flags` if they are valid. `err` or
 * `error` becomes the attributes `exception.type`, `exception.message` and `exception.stacktrace`; `hostname` and
 * `pid` the resource attributes `host.name` and `process.pid`. All other fields become attributes; objects and arrays
 * stay nested. The attribute `log.record.uid` is the id of the log and the seq.
 *
 * Answers count as for `httpSink`: other failures than 429, 502, 503 and 504 are tried again, too, although OTLP does
 * not ask for it, so that a token that has expired loses nothing. If a collector accepts a batch but rejects some of
 * its records (a partial success), it does not say which ones, and OTLP forbids another try: the forwarder counts
 * them, and notes the range of seqs in the log of refused records.
 * @param {string | URL} url  of the collector; without a path, `/v1/logs` is added
 * @param {OtlpSinkOptions} [options]
 * @returns {import('../options').Sink}
 */
function otlpSink (url, options = {}) {
  checkOptions('otlpSink', options, [...HTTP_OPTIONS, 'resource', 'scope', 'map', 'encoding'])
  const { resource = {}, scope, map, encoding = 'json', ...httpOptions } = options
  if (resource === null || typeof resource !== 'object') throw misuse('otlpSink: resource must be an object of attributes')
  if (scope !== undefined && typeof scope?.name !== 'string') throw misuse('otlpSink: scope must have a name')
  if (map !== undefined && typeof map !== 'function') throw misuse('otlpSink: map must be a function')
  if (typeof encoding !== 'string' || !Object.hasOwn(WRITERS, encoding)) throw misuse(`otlpSink: encoding must be one of ${Object.keys(WRITERS).join(', ')}`)
  const describe = (/** @type {Buffer} */ body) => readStatus(encoding, body) ?? String(body)
  const http = new HttpPost('otlpSink', addPath(url), httpOptions, describe)
  const { writeRecord, writeRequest } = WRITERS[encoding]
  const shared = Object.entries(resource).map(([key, value]) => attribute(key, value))
  return {
    send: async (records, context) => {
      const { chunks, refused } = formatAll(records, (record) => {
        const made = toLogRecord(record.value, `${context.keyPrefix}-${record.seq}`, scope !== undefined)
        const logRecord = map ? map(made.record, record) : made.record
        if (logRecord === null || typeof logRecord !== 'object') throw misuse(`otlpSink: map must return a log record, got ${reasonOf(logRecord)}`)
        return { ...made, record: writeRecord(logRecord) }
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
  if (!(url instanceof URL) && !(typeof url === 'string' && URL.canParse(url))) return url
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

/**
 * Each record is text already: one that JSON cannot express is refused by itself.
 * @param {any[]} resourceLogs
 */
function joinJson (resourceLogs) {
  const parts = resourceLogs.map(({ resource, scopeLogs: [{ scope, logRecords }] }) => {
    return `{"resource":${JSON.stringify(resource)},"scopeLogs":[{"scope":${JSON.stringify(scope)},"logRecords":[${logRecords.join()}]}]}`
  })
  return `{"resourceLogs":[${parts.join()}]}`
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
