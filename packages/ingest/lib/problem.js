'use strict'
// Failures as answers: RFC 9457 problem details, made from our own refusals, the errors of logs, and those of fastify.

const { STATUS_CODES } = require('node:http')
const { codes } = require('@millrace/errors')

/** Codes of logs and their answers. Whatever the disk says otherwise is 503: it may get better. */
const STATUS_OF = /** @type {Record<string, number>} */ ({
  ERR_LOG_SEQ_RETAINED: 410,
  ERR_LOG_SEQ_LOST: 410,
  ERR_APPEND_CONDITION: 412,
  ERR_RECORD_TOO_LARGE: 413,
  ERR_CODEC_ENCODE: 400,
  ERR_LOG_OVERLOADED: 503,
  FST_ERR_CTP_BODY_TOO_LARGE: 413,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 415
})
/** In place of fastify's, which does not say what to do. */
const WORDS = /** @type {Record<string, string>} */ ({
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'send the body with Content-Type: application/json, or application/x-ndjson for a record a line'
})
const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const RETRY_SECONDS = 1
/** Parts of a request, as fastify calls them. */
const PLACES = /** @type {Record<string, string>} */ ({ params: 'path', querystring: 'query', headers: 'header' })

/**
 * @typedef {object} Details
 * @property {string} [code]  for programs
 * @property {number} [retryAfter]  seconds
 * @property {Record<string, unknown>} [more]  further members of the answer
 * @property {Record<string, string>} [headers]
 * @property {unknown} [cause]
 */

class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} detail  what was found and what to do
   * @param {Details} [details]
   */
  constructor (status, detail, { code, retryAfter, more = {}, headers = {}, cause } = {}) {
    super(detail, cause === undefined ? undefined : { cause })
    this.statusCode = status
    this.code = code
    this.more = more
    /** @type {Record<string, string>} */
    this.headers = retryAfter === undefined ? headers : { 'Retry-After': String(retryAfter), ...headers }
  }

  /** The body of the answer. */
  toJSON () {
    const { statusCode: status, message: detail, code, more } = this
    return { type: 'about:blank', title: STATUS_CODES[status], status, detail, ...(code && { code }), ...more }
  }
}

/** Messages of logs hold paths, which are nobody's business. @type {(err: any) => string} */
function detailOf ({ name, code, message }) {
  return name === 'LogError' ? codes[/** @type {keyof typeof codes} */ (code)] : WORDS[code] ?? message
}

/** @param {any} err */
function reasonOfAbort (err) {
  return err?.code === 'ABORT_ERR' ? err.cause : err
}

/** @param {any} err @returns {Problem} */
function toProblem (err) {
  const given = reasonOfAbort(err)
  if (given instanceof Problem) return given
  const { code, statusCode, seq } = err ?? {}
  const status = STATUS_OF[code] ?? (statusCode >= 400 && statusCode < 500 ? statusCode : null)
  if (status === 503) return unavailable('more waits to be written than the log may keep waiting', err)
  const more = seq === undefined ? {} : { seq }
  if (status !== null) return new Problem(status, detailOf(err), { code, more, cause: err })
  if (statusCode === 503) return unavailable('the server is stopping')
  if (err?.name === 'LogError' || err?.syscall !== undefined) return unavailable(`the log cannot be used now (${code})`, err)
  return new Problem(500, 'the server failed; its log says why', { cause: err })
}

/**
 * What a schema refuses.
 * @type {(errors: Array<{ instancePath: string, message?: string }>, place: string) => Problem}
 */
function refuse ([{ instancePath, message }], place) {
  const name = PLACES[place] ?? place
  return new Problem(400, `${name}${instancePath.replaceAll('/', ' ')} ${message}`, { code: `bad_${name}` })
}

/** @type {(detail: string, cause?: unknown) => Problem} */
function unavailable (detail, cause) {
  return new Problem(503, detail, { code: 'unavailable', retryAfter: RETRY_SECONDS, cause })
}

/** @type {(detail: string, more?: Record<string, number>) => Problem} */
function tooLarge (detail, more) {
  return new Problem(413, detail, { code: 'too_large', more })
}

/** @param {string} detail */
function unauthorized (detail) {
  return new Problem(401, detail, { code: 'key', headers: { 'WWW-Authenticate': 'Bearer' } })
}

/** @type {(err: any, request: import('fastify').FastifyRequest, reply: import('fastify').FastifyReply) => void} */
function sendProblem (err, request, reply) {
  const problem = toProblem(err)
  if (problem.statusCode >= 500) request.log.error({ err })
  const headers = { ...problem.headers, 'Content-Type': PROBLEM_TYPE, 'X-Content-Type-Options': 'nosniff' }
  reply.code(problem.statusCode).headers(headers).send(JSON.stringify(problem))
}

exports.PROBLEM_TYPE = PROBLEM_TYPE
exports.Problem = Problem
exports.refuse = refuse
exports.sendProblem = sendProblem
exports.toProblem = toProblem
exports.tooLarge = tooLarge
exports.unauthorized = unauthorized
exports.unavailable = unavailable
