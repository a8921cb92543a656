'use strict'
// POST /v1/logs: OTLP/HTTP logs, in protobuf and JSON. Each log record becomes a record with its resource and scope.
// All answers are messages of OTLP in the encoding of the request.
// https://opentelemetry.io/docs/specs/otlp/#otlphttp

const { toPromise } = require('@millrace/flow')
const { MEDIA_TYPES, readAsJson, writeResponse, writeStatus } = require('@millrace/otlp')
const { mediaType } = require('./content')
const { Problem, toProblem } = require('./problem')
const { envelopeOf } = require('./record')
const { docs } = require('./schemas')
const { chooseAck, commit } = require('./write-routes')

/** The log of keys that name no other. */
const LOG = 'otlp'
/** gRPC's codes for what went wrong; 2 is "unknown". */
const CODE_OF = /** @type {Record<string, number>} */ ({ 400: 3, 401: 16, 403: 7, 413: 3, 415: 3, 429: 8, 503: 14 })
const CODE_UNKNOWN = 2

/**
 * @typedef {import('@millrace/otlp').Encoding} Encoding
 * @typedef {import('@millrace/otlp').Rejection} Rejection
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./options').Limits} Limits
 * @typedef {import('./plugin').Context} Context
 * @typedef {{ records: Buffer[], rejection: Rejection }} ReadRequest
 */

/** @type {(routes: any, context: Context) => void} */
function addOtlpRoute (routes, { options, logs }) {
  const access = { action: 'write', log: otlpLogOf }
  routes.add('POST', '/v1/logs', access, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const encoding = encodingOf(request)
    if (encoding === null) throw new Problem(415, `send ${MEDIA_TYPES.protobuf} or ${MEDIA_TYPES.json}`)
    const { ack, isAsked } = chooseAck(request, options)
    const body = request.body ?? Buffer.alloc(0)
    const name = otlpLogOf(request.apiKey)
    const read = (/** @type {number} */ timeMs) => readRecords(encoding, body, timeMs, options.limits)
    // A request that has no records, or is refused, makes no log.
    const first = logs.names.has(name) ? null : read(0)
    const rejection = first?.records.length === 0 ? first.rejection : await storeRequest(logs, name, ack, read)
    if (isAsked) reply.header('Preference-Applied', `ack=${ack}`)
    reply.header('Content-Type', MEDIA_TYPES[encoding])
    return writeResponse(encoding, rejection)
  }, { errorHandler: sendStatus, doc: docs.otlp })
}

/** @param {import('./keys').Key | null} key */
function otlpLogOf (key) {
  return key?.otlpLog ?? LOG
}

/** @type {(request: any) => Encoding | null} */
function encodingOf ({ headers }) {
  const type = mediaType(headers['content-type'])
  return type === MEDIA_TYPES.protobuf ? 'protobuf' : type === MEDIA_TYPES.json ? 'json' : null
}

/** @type {(logs: NamedLogs, name: string, ack: Ack, read: (timeMs: number) => ReadRequest) => Promise<Rejection>} */
async function storeRequest (logs, name, ack, read) {
  const entry = await logs.acquire(name, true)
  let rejection = { rejectedCount: 0, message: '' }
  try {
    const makeRecords = (/** @type {number} */ timeMs) => {
      const request = read(timeMs)
      rejection = request.rejection
      return request.records
    }
    // None of them has a source and an event where those of /v1/se have them.
    await toPromise((cb) => commit(entry, makeRecords, ack, () => [], cb))
  } finally {
    logs.release(entry)
  }
  return rejection
}

/**
 * Records that are too large are rejected, and the others go on.
 * @type {(encoding: Encoding, body: Buffer, timeMs: number, limits: Limits) => ReadRequest}
 */
function readRecords (encoding, body, timeMs, { batchCount, pendingSize, recordSize }) {
  const { before, after } = envelopeOf(timeMs, null)
  const sizeMax = recordSize + before.length + after.length
  const limits = { countMax: batchCount, sizeMax: pendingSize, before, after }
  const all = readOrRefuse(() => readAsJson(encoding, body, limits))
  const records = all.filter(({ length }) => length <= sizeMax)
  const rejectedCount = all.length - records.length
  const message = rejectedCount === 0 ? '' : `${rejectedCount} of ${all.length} log records have more than ${recordSize} bytes, and were not stored`
  return { records, rejection: { rejectedCount, message } }
}

/** @template T @param {() => T} read @returns {T} throws a Problem */
function readOrRefuse (read) {
  try {
    return read()
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_CODEC_DECODE') throw new Problem(400, `${err.message}; nothing was stored`, { cause: err })
    if (err.code === 'ERR_RECORD_TOO_LARGE') throw new Problem(413, `${err.message}; nothing was stored`, { cause: err })
    throw err
  }
}

/** @type {(err: any, request: import('fastify').FastifyRequest, reply: import('fastify').FastifyReply) => void} */
function sendStatus (err, request, reply) {
  const { statusCode, message, headers } = toProblem(err)
  if (statusCode >= 500) request.log.error({ err })
  const encoding = encodingOf(request) ?? 'json'
  const status = writeStatus(encoding, { code: CODE_OF[statusCode] ?? CODE_UNKNOWN, message })
  const all = { ...headers, 'Content-Type': MEDIA_TYPES[encoding], 'X-Content-Type-Options': 'nosniff' }
  reply.code(statusCode).headers(all).send(status)
}

exports.addOtlpRoute = addOtlpRoute
