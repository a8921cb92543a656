'use strict'
// POST /v1/logs: OTLP/HTTP logs, in protobuf and JSON. Each log record becomes a record with its resource and scope.
// All answers are messages of OTLP in the encoding of the request.
// https://opentelemetry.io/docs/specs/otlp/#otlphttp

const { Readable } = require('node:stream')
const { toPromise } = require('@millrace/flow')
const { MEDIA_TYPES, RequestReader, writeResponse, writeStatus } = require('@millrace/otlp')
const { chooseAck } = require('./asked')
const { receiveBody } = require('./body')
const { mediaType } = require('./content')
const { Problem, toProblem } = require('./problem')
const { HEAD, TAIL } = require('./record')
const { docs } = require('./schemas')
const { commit } = require('./write-routes')

/** The log of keys that name no other. */
const LOG = 'otlp'
/** gRPC's codes for what went wrong; 2 is "unknown". */
const CODE_OF = /** @type {Record<string, number>} */ ({
  400: 3, 401: 16, 403: 7, 412: 9, 413: 3, 415: 3, 429: 8, 503: 14
})
const CODE_UNKNOWN = 2
const ELSEWHERE = 'what is not from OpenTelemetry goes to /v1/logs/NAME'
const OTHER_TYPE = `send ${MEDIA_TYPES.protobuf} or ${MEDIA_TYPES.json}; ${ELSEWHERE}`

/**
 * @typedef {import('@millrace/otlp').Encoding} Encoding
 * @typedef {import('@millrace/otlp').Rejection} Rejection
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./plugin').Context} Context
 * @typedef {{ records: Buffer[], rejection: Rejection, memory?: import('./memory-budget').HeldMemory }} ReadRequest
 */

/** @type {(routes: any, context: Context) => void} */
function addOtlpRoute (routes, context) {
  const { options, logs } = context
  const access = { action: 'write', log: otlpLogOf }
  routes.add('POST', '/v1/logs', access, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const encoding = encodingOf(request)
    if (encoding === null) throw new Problem(415, OTHER_TYPE)
    // A forwarder sends `Idempotency-Key` to every collector, and OTLP has none: it is ignored.
    const { ack, isAsked } = chooseAck(request, options)
    const { records, rejection, memory } = await readRequest(encoding, request, context)
    // A request that has no records, or is refused, makes no log.
    if (records.length > 0) await store(logs, otlpLogOf(request.apiKey), ack, { records, pairs: [], memory })
    else memory?.release()
    if (isAsked) reply.header('Preference-Applied', `ack=${ack}`)
    reply.header('Content-Type', MEDIA_TYPES[encoding])
    return writeResponse(encoding, rejection)
  }, { errorHandler: sendStatus, doc: docs.otlp })
}

/** @param {import('./keys').ActiveKey | null} key */
function otlpLogOf (key) {
  return key?.otlpLog ?? LOG
}

/** @type {(request: any) => Encoding | null} */
function encodingOf ({ headers }) {
  const type = mediaType(headers['content-type'])
  return type === MEDIA_TYPES.protobuf ? 'protobuf' : type === MEDIA_TYPES.json ? 'json' : null
}

/** @type {(logs: NamedLogs, name: string, ack: Ack, batch: import('./write-routes').Batch) => Promise<void>} */
async function store (logs, name, ack, batch) {
  try {
    const entry = await logs.acquire(name, true)
    try {
      await toPromise((cb) => commit(entry, batch, ack, null, cb))
    } finally {
      logs.release(entry)
    }
  } catch (err) {
    batch.memory?.release()
    throw err
  }
}

/** @type {(encoding: Encoding, request: any, context: Context) => Promise<ReadRequest>} */
async function readRequest (encoding, request, context) {
  const { batchCount: countMax, recordSize, pendingSize: sizeMax } = context.options.limits
  const limits = { countMax, recordSize, sizeMax, before: HEAD.toString(), after: TAIL.toString() }
  const body = request.body ?? Readable.from([])
  return new Promise((resolve, reject) => {
    receiveBody(request, body, new RequestReader(encoding, limits), context, (err, read, memory) => {
      if (err) return reject(refuse(err, encoding))
      const { texts: records, rejectedCount } = /** @type {{ texts: Buffer[], rejectedCount: number }} */ (read)
      const all = records.length + rejectedCount
      const message = rejectedCount === 0 ? '' : `${rejectedCount} of ${all} log records have more than ${recordSize} bytes, and were not stored`
      resolve({ records, rejection: { rejectedCount, message }, memory })
    })
  })
}

/** What a reader refuses. @type {(err: any, encoding: Encoding) => Error} */
function refuse (err, encoding) {
  if (err.code === 'ERR_CODEC_DECODE') {
    const more = encoding === 'json' ? `. Only logs are taken; ${ELSEWHERE}` : ''
    return new Problem(400, `${err.message}; nothing was stored${more}`, { cause: err })
  }
  if (err.code === 'ERR_RECORD_TOO_LARGE') return new Problem(413, `${err.message}; nothing was stored`, { cause: err })
  return err
}

/** @type {(err: any, request: import('fastify').FastifyRequest, reply: import('fastify').FastifyReply) => void} */
function sendStatus (err, request, reply) {
  const { statusCode, message: text, headers } = toProblem(err)
  // The plugin's own words are for records.
  const message = err.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? OTHER_TYPE : text
  if (statusCode >= 500) request.log.error({ err })
  const encoding = encodingOf(request) ?? 'json'
  const status = writeStatus(encoding, { code: CODE_OF[statusCode] ?? CODE_UNKNOWN, message })
  const all = { ...headers, 'Content-Type': MEDIA_TYPES[encoding], 'X-Content-Type-Options': 'nosniff' }
  reply.code(statusCode).headers(all).send(status)
}

exports.addOtlpRoute = addOtlpRoute
