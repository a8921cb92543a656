'use strict'
// A sink that sends batches to a collector of OpenTelemetry: OTLP/HTTP, logs, JSON encoding.

const { misuse } = require('@millrace/errors')
const { checkObject } = require('../options')
const { HttpPost, HTTP_OPTIONS } = require('./http-post')
const { formatAll } = require('./lines')
const { attribute, toLogRecord } = require('./otlp-record')

const PATH = '/v1/logs'
const SCOPE = { name: '@millrace/forwarder' }

/**
 * @typedef {import('./otlp-record').LogRecord} LogRecord
 * @typedef {import('./otlp-record').Origin} Origin
 * @typedef {import('../options').SinkRecord} SinkRecord
 */

/**
 * @typedef {object} OwnOptions
 * @property {Record<string, unknown> | undefined} [resource]  attributes of all records, such as `service.name`
 * @property {{ name: string, version?: string, attributes?: Record<string, unknown> } | undefined} [scope]
 * @property {((logRecord: LogRecord, record: SinkRecord) => LogRecord) | undefined} [map]  may change what is sent
 * @typedef {import('./http-post').HttpOptions & OwnOptions} OtlpSinkOptions
 */

/**
 * @param {string | URL} url  of the collector; without a path, `/v1/logs` is added
 * @param {OtlpSinkOptions} [options]
 * @returns {import('../options').Sink}
 */
function otlpSink (url, options = {}) {
  checkObject('otlpSink', options, [...HTTP_OPTIONS, 'resource', 'scope', 'map'])
  const { resource = {}, scope, map, ...httpOptions } = options
  if (resource === null || typeof resource !== 'object') throw misuse('otlpSink: resource must be an object of attributes')
  if (scope !== undefined && typeof scope?.name !== 'string') throw misuse('otlpSink: scope must have a name')
  if (map !== undefined && typeof map !== 'function') throw misuse('otlpSink: map must be a function')
  const http = new HttpPost('otlpSink', addPath(url), httpOptions)
  const shared = Object.entries(resource).map(([key, value]) => attribute(key, value))
  return {
    send: async (records, context) => {
      const { chunks, refused } = formatAll(records, (record) => {
        const made = toLogRecord(record.value, `${context.log}-${record.seq}`, scope !== undefined)
        return map ? { ...made, record: map(made.record, record) } : made
      })
      if (chunks.length === 0) return { refused }
      const body = { resourceLogs: group(chunks, shared, scope) }
      const answer = await http.post(JSON.stringify(body), { 'content-type': 'application/json' }, context)
      return { refused, ...readPartialSuccess(answer.text) }
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
 * @param {Array<{ record: LogRecord, origin: Origin }>} made
 * @param {import('./otlp-record').KeyValue[]} shared
 * @param {OwnOptions['scope']} scope
 */
function group (made, shared, scope) {
  const groups = []
  let last = null
  for (const { record, origin } of made) {
    const name = JSON.stringify(origin)
    if (last === null || last.name !== name) {
      last = { name, logRecords: /** @type {LogRecord[]} */ ([]) }
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
 * @param {string} text
 */
function readPartialSuccess (text) {
  try {
    const { partialSuccess } = JSON.parse(text)
    const refusedCount = Number(partialSuccess?.rejectedLogRecords ?? 0)
    return refusedCount > 0 ? { refusedCount, message: String(partialSuccess.errorMessage ?? 'rejected') } : {}
  } catch {
    return {}
  }
}

exports.otlpSink = otlpSink
