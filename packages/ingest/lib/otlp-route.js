'use strict'
// POST /v1/logs: OTLP/HTTP logs, in protobuf and JSON. Each log record becomes a record with its resource and scope.
// All answers are messages of OTLP in the encoding of the request.
// https://opentelemetry.io/docs/specs/otlp/#otlphttp

const { toPromise } = require('@millrace/flow')
const { MEDIA_TYPES, readAsJson, writeResponse, writeStatus } = require('@millrace/otlp')
const { receiveBody } = require('./body')
const { mediaType } = require('./content')
const { Problem, toProblem } = require('./problem')
const { ENVELOPE_SIZE, HEAD, TAIL } = require('./record')
const { docs } = require('./schemas')
const { chooseAck, commit } = require('./write-routes')

/** The log of keys that name no other. */
const LOG = 'otlp'
/** gRPC's codes for what went wrong; 2 is "unknown". */
const CODE_OF = /** @type {Record<string, number>} */ ({ 400: 3, 401: 16, 403: 7, 413: 3, 415: 3, 429: 8, 503: 14 })
const CODE_UNKNOWN = 2
/** Some programs begin UTF-8 with a byte-order mark, which JSON does not have. */
const MARK = Buffer.from('\ufeff')

/**
 * @template T
 * @typedef {import('./body').Reader<T>} Reader
 */

/**
 * @typedef {import('@millrace/otlp').Encoding} Encoding
 * @typedef {import('@millrace/otlp').Rejection} Rejection
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('./options').Ack} Ack
 * @typedef {import('./options').Limits} Limits
 * @typedef {import('./plugin').Context} Context
 * @typedef {{ records: Buffer[], rejection: Rejection, hold?: import('./holds').Hold }} ReadRequest
 */

/** @type {(routes: any, context: Context) => void} */
function addOtlpRoute (routes, context) {
  const { options, logs } = context
  const access = { action: 'write', log: otlpLogOf }
  routes.add('POST', '/v1/logs', access, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const encoding = encodingOf(request)
    if (encoding === null) throw new Problem(415, `send ${MEDIA_TYPES.protobuf} or ${MEDIA_TYPES.json}`)
    const { ack, isAsked } = chooseAck(request, options)
    const { records, rejection, hold } = await readRequest(encoding, request, context)
    // A request that has no records, or is refused, makes no log.
    if (records.length > 0) await store(logs, otlpLogOf(request.apiKey), ack, { records, pairs: [], hold })
    else hold?.release()
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
    batch.hold?.release()
    throw err
  }
}

/** @type {(encoding: Encoding, request: any, context: Context) => Promise<ReadRequest>} */
async function readRequest (encoding, request, context) {
  const { limits } = context.options
  if (!request.body) return readRecords(encoding, Buffer.alloc(0), limits)
  return new Promise((resolve, reject) => {
    receiveBody(request, request.body, new WholeBody(), context, (err, body, hold) => {
      if (err) return reject(err)
      try {
        resolve({ ...readRecords(encoding, /** @type {Buffer} */ (body), limits), hold })
      } catch (err) {
        hold?.release()
        reject(err)
      }
    })
  })
}

/** @implements {Reader<Buffer>} */
class WholeBody {
  nextSize = 0
  heldSize = 0
  /** @type {Buffer[]} */
  #chunks = []

  /** @param {Buffer} chunk */
  write (chunk) {
    this.#chunks.push(chunk)
    this.heldSize += chunk.length
  }

  step () {}
  end () {}

  finish () {
    return Buffer.concat(this.#chunks)
  }
}

/**
 * Records that are too large are rejected, and the others go on.
 * @type {(encoding: Encoding, body: Buffer, limits: Limits) => ReadRequest}
 */
function readRecords (encoding, body, { batchCount, pendingSize, recordSize }) {
  const sizeMax = recordSize + ENVELOPE_SIZE
  const limits = { countMax: batchCount, sizeMax: pendingSize, before: HEAD.toString(), after: TAIL.toString() }
  const isMarked = encoding === 'json' && body.subarray(0, MARK.length).equals(MARK)
  const all = readOrRefuse(() => readAsJson(encoding, isMarked ? body.subarray(MARK.length) : body, limits))
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
