'use strict'
// GET /v1/logs/:name: a range as lines of JSON, or what comes as server-sent events. GET /v1/logs: the names.

const { Readable } = require('node:stream')
const { LogError } = require('@millrace/errors')
const { onAbort } = require('@millrace/flow')
const { sendEvents } = require('./live')
const { allows } = require('./keys')
const { toProblem, unavailable } = require('./problem')
const { describeGone, parseQuery, readLines } = require('./reading')
const { docs } = require('./schemas')

const LINES_TYPE = 'application/x-ndjson; charset=utf-8'

/**
 * @typedef {import('./named-logs').NamedLog} NamedLog
 * @typedef {import('./plugin').Context} Context
 * @typedef {import('./reading').Query} Query
 */

/** @type {(routes: any, context: Context) => void} */
function addReadRoutes (routes, context) {
  const { logs, metrics } = context
  routes.add('GET', '/v1/logs/:name', { action: 'read' }, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const query = parseQuery(request.query)
    const isLive = /(^|,)\s*text\/event-stream\b/i.test(request.headers.accept ?? '')
    const { liveReaders } = metrics
    if (isLive && liveReaders >= context.options.limits.liveReaders) throw unavailable(`there are ${liveReaders} live readers`)
    const entry = await logs.acquire(request.params.name, false)
    let isReleased = false
    const release = () => {
      if (isReleased) return
      isReleased = true
      if (isLive) metrics.liveReaders--
      logs.release(entry)
    }
    if (isLive) metrics.liveReaders++
    try {
      if (isLive) await follow(request, reply, { entry, query, context, release })
      else await send(reply, { entry, query, context, release, isHead: request.method === 'HEAD' })
    } catch (err) {
      release()
      throw await describeGone(entry, err)
    }
    return reply
  }, { doc: docs.read })
  routes.add('GET', '/v1/logs', { action: 'any' }, (/** @type {any} */ { apiKey }) => {
    const names = [...logs.names].filter((name) => apiKey === null || allows(apiKey, 'read', name))
    return { logs: names.sort() }
  }, { doc: docs.list })
}

/**
 * @param {any} reply
 * @param {{ entry: NamedLog, query: Query, context: Context, release: () => void, isHead: boolean }} reading
 */
async function send (reply, { entry, query, context, release, isHead }) {
  const { limits } = context.options
  const gone = new AbortController()
  const forget = onAbort(context.ending, () => gone.abort())
  const lines = readLines(entry, query, limits, gone.signal)
  // Its failure is the answer's status.
  const first = await lines.next().catch((err) => {
    forget()
    throw err
  })
  if (isHead) {
    forget()
    gone.abort()
    release()
    reply.header('Content-Type', LINES_TYPE).send()
    return
  }
  const body = Readable.from(continued(first.value ?? '', lines), { objectMode: false, highWaterMark: 1 })
  body.once('close', () => {
    forget()
    gone.abort()
    release()
  })
  reply.raw.once('close', () => body.destroy())
  reply.raw.setTimeout(limits.stallMs, () => reply.raw.destroy())
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

/**
 * @param {any} request
 * @param {any} reply
 * @param {{ entry: NamedLog, query: Query, context: Context, release: () => void }} reading
 */
async function follow ({ headers }, reply, { entry, query, context, release }) {
  const after = await findStart(entry, headers['last-event-id'], query)
  reply.hijack()
  const { stallMs } = context.options.limits
  sendEvents(entry, { after, where: query.where }, reply.raw, { stallMs, signal: context.ending }).finally(release)
}

/**
 * The seq behind which a live reader begins; null: with what comes from now on.
 * @type {(entry: NamedLog, last: string | undefined, query: Query) => Promise<number | null>}
 */
async function findStart ({ log }, last, { from }) {
  const after = last === undefined ? from === null ? null : from - 1 : Number(last)
  if (after === null || after < 0) return after
  // Whether all behind it is still there.
  if (after > Number(log.since.value)) throw new LogError('ERR_LOG_SEQ_LOST', `${after} is above all seqs of the log`)
  await log.first({ gt: after, values: false })
  if (last !== undefined) {
    await log.get(after).catch((/** @type {any} */ err) => {
      if (err.code === 'ERR_LOG_SEQ_LOST' || err.code === 'ERR_LOG_SEQ_RETAINED') throw err
    })
  }
  return after
}

exports.LINES_TYPE = LINES_TYPE
exports.addReadRoutes = addReadRoutes
