'use strict'
// What the load generator sends. `events` is how many events are in one request.

const { writeLogRecord, writeProtobuf } = require('@millrace/otlp')

const PROTOBUF_TYPE = 'application/x-protobuf'
const LINES_TYPE = 'application/x-ndjson'
const SOURCE_COUNT = 30
const EVENT_COUNT = 100
/** Pairs of source and event that each connection goes through. */
const PAIR_COUNT = 100
const BATCH_COUNT = 100

/**
 * @typedef {object} Request
 * @property {'GET' | 'PUT' | 'POST'} method
 * @property {string} path
 * @property {Record<string, string>} [headers]
 * @property {string | Buffer} [body]
 * @typedef {{ events: number, list: Request[] }} Requests
 */

/** @type {(method: 'GET' | 'PUT') => Requests} */
function bare (method) {
  const list = Array.from({ length: PAIR_COUNT }, (_, index) => {
    // 37 and 31 have no divisor in common with the counts, so the pairs differ.
    const path = `/v1/se/source${index * 31 % SOURCE_COUNT}/event${index * 37 % EVENT_COUNT}`
    return { method, path }
  })
  return { events: 1, list }
}

/** @type {(type: string, body: string | Buffer, events: number, path?: string) => Requests} */
function post (type, body, events, path = '/v1/logs/a') {
  return { events, list: [{ method: 'POST', path, headers: { 'content-type': type }, body }] }
}

/** @param {number} n */
function createEvent (n) {
  return JSON.stringify({ source: `source${n % SOURCE_COUNT}`, event: `event${n % EVENT_COUNT}`, n, user: 'u'.repeat(n % 20) })
}

const textOf = (/** @type {string} */ key, /** @type {string} */ stringValue) => ({ key, value: { stringValue } })

/** What an SDK sends for one record of a log. @param {number} n */
function createLogRecord (n) {
  return {
    timeUnixNano: `17900000000000${String(n).padStart(5, '0')}`,
    severityNumber: 9,
    severityText: 'INFO',
    body: { stringValue: `request ${n} to ${'u'.repeat(n % 20)} has ended` },
    attributes: [textOf('source', `source${n % SOURCE_COUNT}`), textOf('event', `event${n % EVENT_COUNT}`),
      { key: 'http.response.status_code', value: { intValue: '200' } }],
    traceId: String(n).padStart(32, '5b8efff798038103'),
    spanId: String(n).padStart(16, 'eee19b7e')
  }
}

/** Of one resource and scope. @type {(records: any[]) => any[]} */
function groupRecords (logRecords) {
  const attributes = [textOf('service.name', 'shop'), textOf('service.version', '1.2.3'), textOf('host.name', 'box')]
  return [{ resource: { attributes }, scopeLogs: [{ scope: { name: 'http' }, logRecords }] }]
}

const logRecords = Array.from({ length: BATCH_COUNT }, (_, n) => createLogRecord(n))

/** By name. Other forms of a body belong here. @type {Record<string, Requests>} */
const requests = {
  put: bare('PUT'),
  get: bare('GET'),
  single: post('application/json', '{"source":"s1","event":"e1","n":12}', 1),
  lines: post(LINES_TYPE, Array.from({ length: BATCH_COUNT }, (_, n) => `${createEvent(n)}\n`).join(''), BATCH_COUNT),
  otlp: post(PROTOBUF_TYPE, writeProtobuf(groupRecords(logRecords.map(writeLogRecord))), BATCH_COUNT, '/v1/logs'),
  'otlp-json': post('application/json', JSON.stringify({ resourceLogs: groupRecords(logRecords) }), BATCH_COUNT, '/v1/logs')
}

exports.requests = requests
exports.createEvent = createEvent
exports.LINES_TYPE = LINES_TYPE
exports.PROTOBUF_TYPE = PROTOBUF_TYPE
