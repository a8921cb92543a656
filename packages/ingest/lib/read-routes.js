'use strict'
// GET /v1/logs/:name: a range as lines of JSON, or what comes as server-sent events. GET /v1/logs: the names.

const { Readable } = require('node:stream')
const { timerMs } = require('@millrace/errors')
const { onAbort } = require('@millrace/flow')
const { EventStream, HEADERS, idAt, sendBack, serveLive } = require('./live')
const { allows } = require('./keys')
const { Problem, sendProblem, toProblem, unauthorized } = require('./problem')
const { LIGHT_LENGTH, describeGone, parseQuery, readLines } = require('./reading')
const { docs } = require('./schemas')

const EVENTS_TYPE = /^\s*text\/event-stream\s*(;|$)/i
/** Of a type: the client takes anything else. */
const REFUSED = /;\s*q\s*=\s*0(\.0*)?\s*(;|$)/i
const LINES_TYPE = 'application/x-ndjson; charset=utf-8'

/**
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('./plugin').Context} Context
 * @typedef {import('./reading').Query} Query
 */

/** @type {(routes: any, context: Context) => void} */
function addReadRoutes (routes, context) {
  const { logs } = context
  routes.add('GET', '/v1/logs/:name', { action: 'read' }, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    // To prepare a long filter takes some ms, and many may come at once.
    const prepare = async () => parseQuery(request.query)
    const isHeavy = request.query.where?.length > LIGHT_LENGTH
    const query = isHeavy ? await context.scans.run(1, prepare) : parseQuery(request.query)
    if (isLive(request)) {
      if (query.isExplained) throw new Problem(400, 'a live stream has no explain', { code: 'bad_query' })
      await serveLiveRequest(request, reply, query, context)
      return reply
    }
    const entry = await logs.acquire(request.params.name, false)
    let leave = () => {}
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      leave()
      logs.release(entry)
    }
    try {
      leave = context.scans.enter()
      await send(request, reply, { entry, query, context, release })
    } catch (err) {
      release()
      throw await describeGone(entry, err)
    }
    return reply
  }, { doc: docs.read, errorHandler: sendFailure })
  routes.add('GET', '/v1/logs', { action: 'any' }, (/** @type {any} */ { apiKey }) => {
    const names = [...logs.names].filter((name) => apiKey === null || allows(apiKey, 'read', name))
    return { logs: names.sort() }
  }, { doc: docs.list })
}

/**
 * @param {any} request
 * @param {any} reply
 * @param {{ entry: NamedLog, query: Query, context: Context, release: () => void }} reading
 */
async function send ({ method, apiKey }, reply, { entry, query, context, release }) {
  const { keys, ending, scans, options: { limits } } = context
  const gone = new AbortController()
  const forget = onAbort(keys.endOf(apiKey), () => gone.abort(notValid(apiKey)))
  const lines = readLines(entry, query, limits, scans, { gone: gone.signal, ending })
  // Its failure is the answer's status.
  const first = await lines.next().catch((err) => {
    forget()
    throw err
  })
  if (method === 'HEAD') {
    forget()
    gone.abort()
    release()
    reply.header('Content-Type', LINES_TYPE).send()
    return
  }
  sendLines(reply, continued(first.value ?? '', lines), limits.stallMs, () => {
    forget()
    gone.abort()
    release()
  })
}

/** @param {import('./keys').ActiveKey | null} apiKey */
function notValid (apiKey) {
  return unauthorized(apiKey === null ? 'the server needs an API key now' : 'this API key is not valid any more')
}

/**
 * Sends lines as they are made. A client that takes none of them for so long is cut off.
 * @type {(reply: any, lines: AsyncIterable<string>, stallMs: number, onEnd: () => void) => void}
 */
function sendLines (reply, lines, stallMs, onEnd) {
  const { raw } = reply
  // The answer to a request that waits in line has no socket yet.
  const { socket } = reply.request.raw
  const { timeout = 0 } = socket
  const body = Readable.from(lines, { objectMode: false, highWaterMark: 1 })
  body.once('close', onEnd)
  raw.once('close', () => {
    body.destroy()
    // The connection may stay for other requests. One that fastify injects has none.
    socket.setTimeout?.(timeout)
  })
  raw.setTimeout(timerMs(stallMs), () => raw.destroy())
  reply.header('Content-Type', LINES_TYPE).send(body)
}

/**
 * A failure after the begin is a last line, since the status has been sent.
 * @param {string} first
 * @param {AsyncGenerator<string, void>} lines
 */
async function * continued (first, lines) {
  yield first
  try {
    yield * lines
  } catch (err) {
    yield `${JSON.stringify({ error: toProblem(err) })}\n`
  }
}

/** Whether the client asks for events. @param {any} request */
function isLive ({ headers: { accept = '' } }) {
  return accept.split(',').some((/** @type {string} */ type) => EVENTS_TYPE.test(type) && !REFUSED.test(type))
}

/** @type {(request: any, reply: any, query: Query, context: Context) => Promise<void>} */
async function serveLiveRequest (request, reply, query, context) {
  const { logs, keys, metrics, scans, ending, options: { limits } } = context
  const { method, params: { name }, headers: { 'last-event-id': lastId }, apiKey, log } = request
  if (method === 'HEAD') return reply.headers(HEADERS).send()
  if (metrics.liveReaders >= limits.liveReaders) {
    // Who has no place yet comes back to where it would have begun.
    const isNew = query.from === null && !lastId
    sendBack(reply, { detail: `there are ${limits.liveReaders} live readers`, id: isNew ? await findNow(logs, name) : null })
    return
  }
  metrics.liveReaders++
  reply.hijack()
  const stream = new EventStream(reply.raw, limits)
  const forget = [ending, keys.endOf(apiKey)].map((signal) => onAbort(signal, stream.end))
  serveLive(stream, logs, { name, lastId, from: query.from, filter: query.filter, scans })
    .catch((err) => {
      // The client comes back.
      if (!stream.signal.aborted) log.error({ err })
    })
    .finally(() => {
      forget.forEach((forget) => forget())
      metrics.liveReaders--
      stream.close()
    })
}

/**
 * The id of where a live reader would begin now; null if that is not known.
 * @type {(logs: NamedLogs, name: string) => Promise<string | null>}
 */
async function findNow (logs, name) {
  if (!logs.isOpen) return null
  if (!logs.names.has(name)) return '-1'
  const entry = await logs.acquire(name, false)
  try {
    return await idAt(entry.log, Number(entry.log.since.value))
  } finally {
    logs.release(entry)
  }
}

/**
 * A live reader that may be served later comes back: after another status than 200 an EventSource never would.
 * @type {(err: any, request: any, reply: any) => void}
 */
function sendFailure (err, request, reply) {
  const { statusCode, message, headers } = toProblem(err)
  if (!isLive(request) || (statusCode < 500 && statusCode !== 429)) return sendProblem(err, request, reply)
  if (statusCode >= 500) request.log.error({ err })
  const seconds = Number(headers['Retry-After'] ?? NaN)
  sendBack(reply, { detail: message, ...(seconds > 1 && { retryMs: seconds * 1000 }) })
}

exports.LINES_TYPE = LINES_TYPE
exports.sendLines = sendLines
exports.addReadRoutes = addReadRoutes
