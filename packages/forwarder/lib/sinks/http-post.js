'use strict'
// One POST after the other over a connection that stays open, and what the answer means: accepted, refused for good,
// too large, or not now.

const http = require('node:http')
const https = require('node:https')
const { performance } = require('node:perf_hooks')
const { clearTimeout, setTimeout } = require('node:timers')
const { promisify } = require('node:util')
const zlib = require('node:zlib')
const { misuse, reasonOf, timerMs } = require('@millrace/errors')
const { onAbort } = require('@millrace/flow')
const { refused, tooLarge, unavailable } = require('../outcomes')

const gzip = promisify(zlib.gzip)

// An answer says little. Of a longer one the rest is read, so that the connection can be used again, but not kept.
const KEPT_SIZE_MAX = 64 * 1024
const READ_SIZE_MAX = 2 ** 20
const TIMEOUT_MS = 30_000
const TOO_LARGE = 413
/** Only these say something about the records. All others concern every record, and another try may mend them. */
const REFUSED_STATUS = [400, 422]
/** Failures of a connection that the server has closed: while it was idle, or in the middle of the body. */
const CLOSED_CODES = ['ECONNRESET', 'EPIPE']
/** So long a server may take to say that it wants the body, if it is asked. Many never say so. */
const CONTINUE_MS = 1000

/**
 * @typedef {Record<string, string>} Headers
 * @typedef {object} HttpOptions
 * @property {Headers | (() => Headers | Promise<Headers>) | undefined} [headers]  a function is called before every
 *   try, and may return a promise: for tokens that expire
 * @property {boolean | undefined} [gzip]  true compresses the batches; false by default
 * @property {number | undefined} [timeoutMs]  for a request and its whole answer, in ms; 30,000 by default
 * @property {number[] | undefined} [refusedStatus]  the answers that refuse records for good; `[400, 422]` by
 *   default. If your server answers 500 because of a record, add 500, or the record blocks the rest
 * @property {import('node:http').Agent | undefined} [agent]  for a proxy, or certificates; by default an agent that
 *   keeps one connection open
 */

/** @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, body: Buffer }} Answer */

const HTTP_OPTIONS = ['headers', 'gzip', 'timeoutMs', 'refusedStatus', 'agent']

class HttpPost {
  #url
  /** Without what is secret. */
  #label
  #headers
  #isGzip
  #timeoutMs
  #refusedStatus
  #agent
  #ownAgent
  #describe
  /** The last try was cut off while it was sent. An answer may have been lost with the connection, so ask first. */
  #isAsking = false

  /**
   * @param {string} name  of the function that makes the sink
   * @param {string | URL} url
   * @param {HttpOptions} options
   * @param {(body: Buffer) => string} [describe]  what an answer says about a failure
   * @throws {TypeError} ERR_INVALID_ARGUMENT
   */
  constructor (name, url, options, describe = String) {
    const { headers = {}, gzip = false, timeoutMs = TIMEOUT_MS, refusedStatus = REFUSED_STATUS, agent } = options
    this.#url = parseUrl(name, url)
    this.#label = `POST ${this.#url.origin}${this.#url.pathname}`
    if (typeof headers !== 'function' && (headers === null || typeof headers !== 'object')) {
      throw misuse(`${name}: headers must be an object or a function that returns one`)
    }
    if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) throw misuse(`${name}: timeoutMs must be a whole number above 0`)
    if (!Array.isArray(refusedStatus)) throw misuse(`${name}: refusedStatus must be an array of numbers`)
    this.#describe = describe
    this.#headers = headers
    this.#isGzip = gzip
    this.#timeoutMs = timeoutMs
    this.#refusedStatus = refusedStatus
    const { Agent } = this.#transport
    this.#ownAgent = agent ? undefined : new Agent({ keepAlive: true, maxSockets: 1 })
    this.#agent = agent ?? this.#ownAgent
  }

  get #transport () {
    return this.#url.protocol === 'https:' ? https : http
  }

  /**
   * @param {string | Buffer} content
   * @param {Headers} headers
   * @param {import('../options').SendContext} context
   * @returns {Promise<Answer>}  of a request that was accepted
   */
  async post (content, headers, { key, signal }) {
    const body = this.#isGzip ? await gzip(content) : Buffer.from(content)
    const own = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    const all = {
      ...headers,
      ...(this.#isGzip && { 'content-encoding': 'gzip' }),
      'idempotency-key': `"${key}"`,
      ...own,
      ...(this.#isAsking && { expect: '100-continue' }),
      'content-length': String(body.length)
    }
    const untilMs = performance.now() + this.#timeoutMs
    let answer
    try {
      answer = await this.#request(body, all, { signal, untilMs })
        .catch((err) => err.isStale ? this.#request(body, all, { signal, untilMs }) : Promise.reject(err))
    } catch (/** @type {any} */ err) {
      if (signal.aborted) throw err
      this.#isAsking = CLOSED_CODES.includes(err.code)
      throw unavailable(`${this.#label}: ${reasonOf(err)}`, { cause: err })
    }
    this.#isAsking = false
    this.#check(answer)
    return answer
  }

  /** @type {(body: Buffer, headers: Headers, limits: { signal: AbortSignal, untilMs: number }) => Promise<Answer>} */
  async #request (body, headers, { signal, untilMs }) {
    const request = this.#transport.request(this.#url, { method: 'POST', headers, agent: this.#agent })
    /** Why we ended it. @type {Error | null} */
    let reason = null
    const end = (/** @type {Error} */ err) => {
      reason = err
      request.destroy(err)
    }
    const late = new Error(`no whole answer within ${this.#timeoutMs} ms`)
    const timer = setTimeout(end, timerMs(untilMs - performance.now()), late)
    const forget = onAbort(signal, () => end(signal.reason))
    try {
      /** @type {import('node:http').IncomingMessage} */
      const response = await new Promise((resolve, reject) => {
        request.on('response', resolve).on('error', reject)
        request.on('close', () => reject(new Error('the connection was closed without an answer')))
        // A connection may fail once more when its answer is there already, and nobody else listens.
        request.on('socket', (socket) => { if (!request.reusedSocket) socket.on('error', () => {}) })
        sendBody(request, body)
      })
      return await readAnswer(response)
    } catch (/** @type {any} */ err) {
      if (reason !== null) throw reason
      throw request.reusedSocket && CLOSED_CODES.includes(err.code) ? Object.assign(err, { isStale: true }) : err
    } finally {
      // The answer came before the body was sent.
      if (!request.writableFinished) request.destroy()
      clearTimeout(timer)
      forget()
    }
  }

  /** Throws unless the answer accepts. @param {Answer} answer */
  #check ({ status, headers, body }) {
    if (isSuccess(status)) return
    const excerpt = this.#describe(body).trim().slice(0, 300)
    const message = `${this.#label} answered ${status} ${http.STATUS_CODES[status] ?? ''}${excerpt && `: ${excerpt}`}`
    if (status === TOO_LARGE) throw tooLarge(message)
    if (this.#refusedStatus.includes(status)) throw refused(message)
    throw unavailable(message, { retryAfterMs: parseRetryAfter(headers['retry-after'], parseDate(headers.date)) })
  }

  close () {
    this.#ownAgent?.destroy()
  }
}

/** @type {(name: string, url: string | URL) => URL} */
function parseUrl (name, url) {
  try {
    const parsed = new URL(url)
    if (parsed.protocol === 'http:' || parsed.protocol === 'https:') return parsed
  } catch {
    // Said below.
  }
  throw misuse(`${name}: expected an http: or https: URL, got ${reasonOf(url)}`)
}

/**
 * Waits for the server's consent if the request asks for it.
 * @type {(request: import('node:http').ClientRequest, body: Buffer) => void}
 */
function sendBody (request, body) {
  if (!request.hasHeader('expect')) {
    request.end(body)
    return
  }
  const timer = setTimeout(() => request.end(body), CONTINUE_MS)
  request.once('continue', () => request.end(body))
  for (const event of ['continue', 'response', 'close']) request.once(event, () => clearTimeout(timer))
  request.flushHeaders()
}

/** @param {number} status */
function isSuccess (status) {
  return status >= 200 && status < 300
}

/**
 * Fails if the answer is cut off, unless it is a failure anyway: a server that does not want the rest of a body may
 * close the connection together with its answer.
 * @param {import('node:http').IncomingMessage} response
 * @returns {Promise<Answer>}
 */
async function readAnswer (response) {
  const { statusCode: status = 0, headers } = response
  /** @type {Buffer[]} */
  const parts = []
  let size = 0
  try {
    for await (const part of response) {
      if (size < KEPT_SIZE_MAX) parts.push(part.subarray(0, KEPT_SIZE_MAX - size))
      size += part.length
      if (size > READ_SIZE_MAX) break
    }
  } catch (err) {
    if (isSuccess(status)) throw err
  }
  return { status, headers, body: Buffer.concat(parts) }
}

/**
 * Seconds, or a date.
 * @param {string | undefined} text
 * @param {number} [nowMs]  the time when the answer was made, by the server's clock: ours may be wrong by years
 * @returns {number | undefined}  ms from now
 */
function parseRetryAfter (text = '', nowMs = Date.now()) {
  const ms = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : (parseDate(text) ?? nowMs) - nowMs
  return ms > 0 ? ms : undefined
}

/**
 * In one of the three forms of HTTP; the last one names no zone. `Date.parse` takes many other texts for dates.
 * @param {string | undefined} text
 * @returns {number | undefined}  ms since 1970
 */
function parseDate (text = '') {
  if (!/^\s*(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/.test(text)) return undefined
  const ms = Date.parse(/ GMT\s*$/.test(text) ? text : `${text} GMT`)
  return Number.isNaN(ms) ? undefined : ms
}

exports.HttpPost = HttpPost
exports.HTTP_OPTIONS = HTTP_OPTIONS
exports.parseDate = parseDate
exports.parseRetryAfter = parseRetryAfter
