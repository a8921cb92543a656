'use strict'
// What requests look like. fastify validates paths, queries and headers with these schemas, and the OpenAPI document
// shows them.

const { TEXT_LENGTH_MAX } = require('./counts/tally')
const { ACKS } = require('./options')
const { LIGHT_LENGTH } = require('./reading')

const SEQ_MAX = Number.MAX_SAFE_INTEGER

/**
 * @typedef {Record<string, any>} Schema  a JSON Schema
 *
 * @typedef {object} Doc  of a route
 * @property {string} summary
 * @property {Record<string, Schema>} [params]
 * @property {Record<string, Schema>} [query]  the parameters that there are: no others are taken
 * @property {Record<string, Schema>} [headers]
 * @property {Record<string, Schema>} [body]  by media type; shown only
 * @property {Record<string, Answer>} answers  by status; `default` if failures are no problems
 * @typedef {{ description: string, content: Record<string, Schema> }} Answer
 */

const seq = (/** @type {string} */ description) => ({ type: 'integer', minimum: -1, maximum: SEQ_MAX, description })
const time = (/** @type {string} */ description) => ({
  type: 'string',
  minLength: 1,
  maxLength: 100,
  description: `${description}: a time, in UTC unless it has a zone; ms or seconds since 1970; or 10m, 1h or 2d for so long ago`,
  examples: ['2026-11-23', '2026-11-23T10:00+02:00', '1790000000000', '10m']
})
const day = (/** @type {string} */ description) => ({ type: 'string', format: 'date', description })
const eventText = (/** @type {string} */ description) => ({ type: 'string', minLength: 1, maxLength: TEXT_LENGTH_MAX, description })
const count = { type: 'integer', minimum: 0 }
const object = (/** @type {Record<string, Schema>} */ properties, /** @type {string[]} */ optional = []) => ({
  type: 'object', properties, required: Object.keys(properties).filter((name) => !optional.includes(name))
})

const name = {
  type: 'string',
  pattern: '^[a-z0-9][a-z0-9_-]{0,63}$',
  description: 'a log'
}
const ack = { type: 'string', enum: ACKS, description: 'what the answer promises; of this and Prefer, the stronger one counts' }
const prefer = { type: 'string', description: 'such as ack=synced. Other preferences are ignored; an ack that is not known is refused' }
const stored = object({ ack: { type: 'string', enum: ACKS }, count, last: count }, ['last'])
const lines = { 'application/x-ndjson': { type: 'string', description: 'a line for each, and a last line that says how the answer ended' } }

const otlp = { 'application/json': { type: 'object' }, 'application/x-protobuf': { type: 'string', format: 'binary' } }

/** @type {(description: string, schema: Schema) => Record<string, Answer>} */
const ok = (description, schema) => ({ 200: { description, content: { 'application/json': schema } } })

const acknowledged = {
  ...ok('written, or synced', stored),
  202: { description: 'buffered', content: { 'application/json': stored } }
}

/** @type {Record<string, Doc>} */
exports.docs = {
  write: {
    summary: 'Appends records, as a whole or not at all',
    params: { name },
    query: {
      ack,
      if: {
        type: 'string',
        maxLength: LIGHT_LENGTH,
        contentMediaType: 'application/json',
        description: 'a filter on the value: if a record matches it, nothing is stored, and the answer is 412 with its seq. It needs the right to read, too'
      },
      since: { ...seq('only records after this seq count for if; 410 if the log ends before it'), minimum: -1 }
    },
    headers: {
      prefer,
      'idempotency-key': {
        type: 'string', pattern: '^[!-~][ -~]{0,255}$', description: 'a second request with the same key stores nothing'
      }
    },
    body: {
      'application/json': {
        description: 'one record, or an array of records',
        anyOf: [{ type: ['object', 'string', 'number', 'boolean', 'null'] }, { type: 'array', minItems: 1 }]
      },
      'application/x-ndjson': { type: 'string', description: 'a record a line' }
    },
    answers: acknowledged
  },
  otlp: {
    summary: 'Takes logs from OpenTelemetry: OTLP/HTTP',
    query: { ack },
    headers: { prefer },
    body: {
      'application/json': { description: 'an ExportLogsServiceRequest', type: 'object' },
      'application/x-protobuf': { description: 'the same', type: 'string', format: 'binary' }
    },
    answers: {
      200: { description: 'an ExportLogsServiceResponse', content: otlp },
      default: { description: 'a Status', content: otlp }
    }
  },
  read: {
    summary: 'Reads a range of records; with Accept: text/event-stream, what comes next',
    params: { name },
    query: {
      gt: seq('begin after this seq'),
      gte: seq('begin at this seq'),
      lt: seq('end before this seq'),
      lte: seq('end at this seq'),
      since: time('the first time of receipt'),
      until: time('the last time of receipt'),
      where: { type: 'string', maxLength: 8 * 1024, contentMediaType: 'application/json', description: 'a filter on the value' },
      limit: { type: 'integer', minimum: 1, maximum: SEQ_MAX, description: 'so many records at most' },
      reverse: { type: 'boolean', description: 'last record first' },
      explain: { type: 'boolean', description: 'read nothing; say whether an index is used, and how many records are read' }
    },
    headers: { 'last-event-id': { type: 'string', description: 'of a live stream: go on after the event with this id' } },
    answers: {
      200: {
        description: 'records',
        content: { ...lines, 'text/event-stream': { type: 'string', description: 'an event for each record; its id is the seq. Events of the types cursor and gone have only an id' } }
      }
    }
  },
  list: {
    summary: 'The logs that the key may read',
    answers: ok('names', object({ logs: { type: 'array', items: { type: 'string' } } }))
  },
  event: {
    summary: 'Records that something happened',
    params: { source: eventText('what it happened to'), event: eventText('what happened') },
    query: { key: eventText('more about it'), value: eventText('more about it'), ack },
    headers: { prefer },
    answers: acknowledged
  },
  counts: {
    summary: 'How often each event happened, by UTC day of receipt',
    query: {
      since: day('the first day'),
      until: day('the last day'),
      source: eventText('only this one'),
      event: eventText('only this one')
    },
    answers: { 200: { description: 'counts', content: lines } }
  },
  recount: {
    summary: 'Counts again what the log has',
    answers: ok('what was counted', object({
      from: { type: ['string', 'null'] }, events: count, incomplete: { type: ['string', 'null'] }
    }))
  },
  healthz: { summary: 'Whether the process answers', answers: ok('it does', object({ status: { const: 'alive' } })) },
  readyz: { summary: 'Whether records can be stored', answers: ok('they can', object({ status: { const: 'ready' }, warning: { type: 'string' } }, ['warning'])) },
  metrics: {
    summary: 'What the server measures, for Prometheus',
    answers: { 200: { description: 'samples', content: { 'text/plain': { type: 'string' } } } }
  },
  openapi: { summary: 'This document', answers: ok('the document', { type: 'object' }) }
}
