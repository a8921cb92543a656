'use strict'
// Serves the viewer's page and its answers on the loopback, to whoever has the URL, and to nobody else.
//
//   1. The URL holds a token of 128 random bits, so that another user of the machine, or another page, cannot guess it.
//   2. `Host` must name the loopback, so that a foreign name that is made to point here (DNS rebinding) gets nothing.
//   3. A request that the browser says another site makes is refused, whatever its URL.
//   4. The content security policy lets the page load nothing from, and send nothing to, anywhere else. It allows no
//      inline script and, with trusted types, no text that becomes HTML.

const crypto = require('node:crypto')
const { once } = require('node:events')
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const { whyForeign } = require('@millrace/flow/loopback')

const POLICY = [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"
].join('; ')
const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY'
}
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.mjs': 'text/javascript' }
const PAGE = path.join(__dirname, '..', '..', 'viewer')

/**
 * @param {import('./viewed-log').ViewedLog} viewed
 * @param {{ port?: number }} [options]  a free port by default
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
async function serve (viewed, { port = 0 } = {}) {
  const token = crypto.randomBytes(16).toString('hex')
  const assets = loadAssets()
  const server = http.createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  /** @type {(request: http.IncomingMessage, response: http.ServerResponse) => Promise<unknown>} */
  const answer = async (request, response) => {
    const refusal = whyRefused(request, portOf(server))
    const url = new URL(request.url ?? '/', 'http://localhost')
    const [, given, ...rest] = url.pathname.split('/')
    const name = rest.join('/')
    if (refusal) return refuse(response, refusal.status, refusal.reason)
    if (!isSame(given, token)) return refuse(response, 404, 'open the URL that `millrace view` has printed')
    const asset = assets.get(name === '' ? 'index.html' : name)
    if (asset) return response.writeHead(200, { ...HEADERS, 'Content-Type': asset.type }).end(asset.bytes)
    if (!Object.hasOwn(ANSWERS, name)) return refuse(response, 404, 'there is no such part of the viewer')
    await stream(viewed, ANSWERS[name], url.searchParams, response)
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
    if (server.listening) await once(server, 'close')
  }
  return { url: `http://127.0.0.1:${portOf(server)}/${token}/`, close }
}

/** @param {http.Server} server  that listens */
function portOf (server) {
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

/**
 * @typedef {import('./viewed-log').Reply} Reply
 * @typedef {(viewed: import('./viewed-log').ViewedLog, query: Query, reply: Reply) => unknown} Answer
 */

/** What the page asks for. Each answers with lines of JSON. @type {Record<string, Answer>} */
const ANSWERS = {
  info: (viewed) => viewed.info(),
  page: (viewed, query, { signal }) => viewed.page({ ...query.texts('before', 'from', 'after'), ...query.counts() }, signal),
  record: (viewed, query) => viewed.record({ seq: query.text('seq'), path: query.path(), from: Math.max(0, Math.floor(query.number('from', 0))) }),
  search: (viewed, query, reply) => viewed.search({ query: query.text('query'), ...query.texts('before'), ...query.counts() }, reply),
  tail: (viewed, query, reply) => viewed.tail({ after: query.text('after'), query: query.text('query') }, reply),
  timeline: (viewed, query, reply) => viewed.timeline(reply),
  count: (viewed, query, reply) => viewed.count(reply),
  verify: (viewed, query, reply) => viewed.verify(reply)
}

/**
 * @param {import('./viewed-log').ViewedLog} viewed
 * @param {Answer} answer
 * @param {URLSearchParams} parameters
 * @param {http.ServerResponse} response
 */
async function stream (viewed, answer, parameters, response) {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  response.writeHead(200, { ...HEADERS, 'Content-Type': 'application/x-ndjson; charset=utf-8' })
  // So that the page knows at once that its request has come, though nothing may be found for long.
  response.flushHeaders()
  /** @type {Promise<void> | null} */
  let drained = null
  const send = (/** @type {object} */ line) => {
    if (gone.signal.aborted || response.write(`${JSON.stringify(line)}\n`)) return null
    drained ??= once(response, 'drain', { signal: gone.signal }).then(() => {}, () => {}).finally(() => { drained = null })
    return drained
  }
  try {
    const result = await answer(viewed, new Query(parameters), { send, signal: gone.signal })
    if (result) send(result)
  } catch (/** @type {any} */ err) {
    send({ error: err?.message ?? String(err), code: err?.code })
  }
  response.end()
}

class Query {
  #parameters

  /** @param {URLSearchParams} parameters */
  constructor (parameters) {
    this.#parameters = parameters
  }

  /** @param {string} name */
  text (name) {
    return this.#parameters.get(name) ?? ''
  }

  /**
   * @param {string} name
   * @param {number} [missing]
   */
  number (name, missing) {
    const text = this.#parameters.get(name)
    if (text === null && missing !== undefined) return missing
    const number = Number(text ?? NaN)
    if (Number.isFinite(number)) return number
    throw new TypeError(`the viewer expected a number as ${name}, got ${text}`)
  }

  /**
   * @param {string[]} names
   * @returns {Record<string, string>}  those that are given
   */
  texts (...names) {
    return Object.fromEntries(names.filter((name) => this.#parameters.has(name)).map((name) => [name, this.text(name)]))
  }

  /** @returns {{ count?: number }}  if it is given */
  counts () {
    if (!this.#parameters.has('count')) return {}
    const count = this.number('count')
    if (Number.isInteger(count) && count > 0) return { count }
    throw new TypeError(`the viewer expected a whole number above 0 as count, got ${count}`)
  }

  /** @returns {Array<string | number>} */
  path () {
    const path = JSON.parse(this.#parameters.get('path') ?? '[]')
    if (Array.isArray(path) && path.every((key) => typeof key === 'string' || typeof key === 'number')) return path
    throw new TypeError('the viewer expected a path as a list of names')
  }
}

/**
 * @param {http.IncomingMessage} request
 * @param {number} port
 * @returns {{ status: number, reason: string } | null}
 */
function whyRefused ({ method, headers }, port) {
  if (method !== 'GET') return { status: 405, reason: 'the viewer only answers GET' }
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`]
  if (!hosts.includes(headers.host ?? '')) return { status: 403, reason: 'the viewer answers on the loopback only' }
  const reason = whyForeign(headers)
  return reason === null ? null : { status: 403, reason }
}

/** @type {(response: http.ServerResponse, status: number, reason: string) => void} */
function refuse (response, status, reason) {
  response.writeHead(status, { ...HEADERS, 'Content-Type': 'text/plain; charset=utf-8' }).end(`${reason}\n`)
}

/** Takes as long wherever the two differ. @type {(given: string | undefined, token: string) => boolean} */
function isSame (given, token) {
  const digest = (/** @type {string} */ text) => crypto.createHash('sha256').update(text).digest()
  return crypto.timingSafeEqual(digest(given ?? ''), digest(token))
}

/** The files of the page, by name: only these are ever served. */
function loadAssets () {
  /** @type {Map<string, { bytes: Buffer, type: string }>} */
  const assets = new Map()
  const add = (/** @type {string} */ name, /** @type {string} */ file) => {
    const type = TYPES[/** @type {keyof typeof TYPES} */ (path.extname(name))]
    assets.set(name, { bytes: fs.readFileSync(file), type: `${type}; charset=utf-8` })
  }
  for (const name of fs.readdirSync(PAGE)) add(name, path.join(PAGE, name))
  const uplot = path.dirname(require.resolve('uplot/package.json'))
  add('uplot.mjs', path.join(uplot, 'dist', 'uPlot.esm.js'))
  add('uplot.css', path.join(uplot, 'dist', 'uPlot.min.css'))
  return assets
}

exports.serve = serve
