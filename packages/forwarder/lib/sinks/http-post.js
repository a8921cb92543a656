'use strict'
// One POST after the other over a connection that stays open, and what the answer means: accepted, refused for good,
// too large, or not now.

const http = require('node:http')
const https = require('node:https')
const { performance } = require('node:perf_hooks')
const { promisify } = require('node:util')
const zlib = require('node:zlib')
const { misuse, reasonOf } = require('@millrace/errors')
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
/** Failures of a connection that the server had closed while it was idle. */
const STALE_CODES = ['ECONNRESET', 'EPIPE']

/**
 * @typedef {Record<string, string>} Headers
 * @typedef {object} HttpOptions
 * @property {Headers | (() => Headers | Promise<Headers>) | undefined} [headers]  a function is called before every try
 * @property {boolean | undefined} [gzip]
 * @property {number | undefined} [timeoutMs]  of a whole request and its answer; 30,000 by default
 * @property {number[] | undefined} [refusedStatus]  answers that refuse the records for good; 400 and 422 by default
 * @property {import('node:http').Agent | undefined} [agent]
 */

/** @typedef {{ status: number, headers: import('node:http').IncomingHttpHeaders, text: string }} Answer */

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

  /**
   * @param {string} name  of the function that makes the sink
   * @param {string | URL} url
   * @param {HttpOptions} options
   * @throws {TypeError} ERR_INVALID_ARGUMENT
   */
  constructor (name, url, options) {
    const { headers = {}, gzip = false, timeoutMs = TIMEOUT_MS, refusedStatus = REFUSED_STATUS, agent } = options
    this.#url = parseUrl(name, url)
    this.#label = `POST ${this.#url.origin}${this.#url.pathname}`
    if (typeof headers !== 'function' && (headers === null || typeof headers !== 'object')) {
      throw misuse(`${name}: headers must be an object or a function that returns one`)
    }
    if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 1) throw misuse(`${name}: timeoutMs must be a whole number above 0`)
    if (!Array.isArray(refusedStatus)) throw misuse(`${name}: refusedStatus must be an array of numbers`)
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
   * @param {string} text
   * @param {Headers} headers
   * @param {import('../options').SendContext} context
   * @returns {Promise<Answer>}  of a request that was accepted
   */
  async post (text, headers, { key, signal }) {
    const body = this.#isGzip ? await gzip(text) : Buffer.from(text)
    const own = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    const all = {
      ...headers,
      ...(this.#isGzip && { 'content-encoding': 'gzip' }),
      'idempotency-key': `"${key}"`,
      ...own,
      'content-length': String(body.length)
    }
    const untilMs = performance.now() + this.#timeoutMs
    let answer
    try {
      answer = await this.#request(body, all, { signal, untilMs })
        .catch((err) => err.isStale ? this.#request(body, all, { signal, untilMs }) : Promise.reject(err))
    } catch (err) {
      if (signal.aborted) throw err
      throw unavailable(`${this.#label}: ${reasonOf(err)}`, { cause: err })
    }
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
    const timer = setTimeout(end, untilMs - performance.now(), late)
    const forget = onAbort(signal, () => end(signal.reason))
    try {
      /** @type {import('node:http').IncomingMessage} */
      const response = await new Promise((resolve, reject) => {
        request.on('response', resolve).on('error', reject)
        request.on('close', () => reject(new Error('the connection was closed without an answer')))
        request.end(body)
      })
      return await readAnswer(response)
    } catch (/** @type {any} */ err) {
      if (reason !== null) throw reason
      throw request.reusedSocket && STALE_CODES.includes(err.code) ? Object.assign(err, { isStale: true }) : err
    } finally {
      clearTimeout(timer)
      forget()
    }
  }

  /** Throws unless the answer accepts. @param {Answer} answer */
  #check ({ status, headers, text }) {
    if (status >= 200 && status < 300) return
    const excerpt = text.trim().slice(0, 300)
    const message = `${this.#label} answered ${status} ${http.STATUS_CODES[status] ?? ''}${excerpt && `: ${excerpt}`}`
    if (status === TOO_LARGE) throw tooLarge(message)
    if (this.#refusedStatus.includes(status)) throw refused(message)
    throw unavailable(message, { retryAfterMs: parseRetryAfter(headers['retry-after']) })
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
  throw misuse(`${name}: expected an http: or https: URL, got ${String(url)}`)
}

/** @type {(response: import('node:http').IncomingMessage) => Promise<Answer>} fails if the answer is cut off */
async function readAnswer (response) {
  /** @type {Buffer[]} */
  const parts = []
  let size = 0
  for await (const part of response) {
    if (size < KEPT_SIZE_MAX) parts.push(part.subarray(0, KEPT_SIZE_MAX - size))
    size += part.length
    if (size > READ_SIZE_MAX) break
  }
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() }
}

/**
 * Seconds, or a date.
 * @param {string | undefined} text
 * @param {number} [nowMs]
 * @returns {number | undefined}  ms from now
 */
function parseRetryAfter (text, nowMs = Date.now()) {
  if (text === undefined) return undefined
  const ms = /^\s*\d+\s*$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return ms > 0 ? ms : undefined
}

exports.HttpPost = HttpPost
exports.HTTP_OPTIONS = HTTP_OPTIONS
exports.parseRetryAfter = parseRetryAfter
