'use strict'
// POST /v1/logs: OTLP/HTTP logs, in protobuf and JSON. Each log record becomes a record with its resource and scope.
// All answers are messages of OTLP in the encoding of the request.
// https://opentelemetry.io/docs/specs/otlp/#otlphttp

const { MEDIA_TYPES, readJson, readProtobuf, writeResponse, writeStatus } = require('@millrace/otlp')
const { Problem, toProblem } = require('./problem')
const { docs } = require('./schemas')
const { chooseAck, mediaType, store } = require('./write-routes')

/** The log of keys that name no other. */
const LOG = 'otlp'
/** gRPC's codes for what went wrong; 2 is "unknown". */
const CODE_OF = /** @type {Record<string, number>} */ ({ 400: 3, 401: 16, 403: 7, 413: 3, 415: 3, 429: 8, 503: 14 })
const CODE_UNKNOWN = 2

/**
 * @typedef {import('@millrace/otlp').Encoding} Encoding
 * @typedef {import('@millrace/otlp').LogGroup} LogGroup
 * @typedef {import('./options').Limits} Limits
 * @typedef {import('./plugin').Context} Context
 */

/** @type {(routes: any, context: Context) => void} */
function addOtlpRoute (routes, { options, logs }) {
  const access = { action: 'write', log: otlpLogOf }
  routes.add('POST', '/v1/logs', access, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const encoding = encodingOf(request)
    if (encoding === null) throw new Problem(415, `send ${MEDIA_TYPES.protobuf} or ${MEDIA_TYPES.json}`)
    const { ack, isAsked } = chooseAck(request, options)
    const groups = read(encoding, request.body ?? Buffer.alloc(0), options.limits)
    const { texts, rejection } = makeTexts(groups, options.limits)
    if (texts.length > 0) {
      const entry = await logs.acquire(otlpLogOf(request.apiKey), true)
      try {
        await store(entry, texts, ack, null)
      } finally {
        logs.release(entry)
      }
    }
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

/** @type {(encoding: Encoding, body: Buffer, limits: Limits) => LogGroup[]} throws a Problem */
function read (encoding, body, { batchCount }) {
  try {
    return (encoding === 'json' ? readJson : readProtobuf)(body, { countMax: batchCount })
  } catch (/** @type {any} */ err) {
    if (err.code === 'ERR_CODEC_DECODE') throw new Problem(400, `${err.message}; nothing was stored`, { cause: err })
    if (err.code === 'ERR_RECORD_TOO_LARGE') throw new Problem(413, `${err.message}; nothing was stored`, { cause: err })
    throw err
  }
}

/**
 * The records as JSON texts. Those that are too large are rejected, and the others go on.
 * @param {LogGroup[]} groups
 * @param {Limits} limits
 */
function makeTexts (groups, { recordSize, pendingSize }) {
  /** @type {string[]} */
  const texts = []
  let rejectedCount = 0
  let size = 0
  for (const { resource, scope, records } of groups) {
    // Made once for all records of the group.
    const rest = JSON.stringify({ resource: presentOf(resource), scope: presentOf(scope) }).slice(1)
    for (const record of records) {
      const text = join(JSON.stringify(record), rest)
      if (isLarger(text, recordSize)) rejectedCount++
      else texts.push(text)
      size += text.length
      // A large resource with many records would become any size.
      if (size > pendingSize) throw new Problem(413, `the records have more than ${pendingSize} bytes, each with its resource and scope; send smaller batches`)
    }
  }
  const all = texts.length + rejectedCount
  const message = rejectedCount === 0 ? '' : `${rejectedCount} of ${all} log records have more than ${recordSize} bytes, and were not stored`
  return { texts, rejection: { rejectedCount, message } }
}

/** @param {object} part */
function presentOf (part) {
  return Object.values(part).some((value) => value !== undefined) ? part : undefined
}

/** @type {(text: string, rest: string) => string} two objects as one; `rest` lacks its first brace */
function join (text, rest) {
  if (rest === '}') return text
  return text === '{}' ? `{${rest}` : `${text.slice(0, -1)},${rest}`
}

/** @type {(text: string, size: number) => boolean} */
function isLarger (text, size) {
  return text.length * 3 > size && Buffer.byteLength(text) > size
}

/** @type {(err: any, request: import('fastify').FastifyRequest, reply: import('fastify').FastifyReply) => void} */
function sendStatus (err, request, reply) {
  const { statusCode, message, headers } = toProblem(err)
  if (statusCode >= 500) request.log.error({ err })
  const encoding = encodingOf(request) ?? 'json'
  const status = writeStatus(encoding, { code: CODE_OF[statusCode] ?? CODE_UNKNOWN, message })
  reply.code(statusCode).headers(headers).header('Content-Type', MEDIA_TYPES[encoding]).send(status)
}

exports.addOtlpRoute = addOtlpRoute
