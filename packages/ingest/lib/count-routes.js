'use strict'
// GET /v1/se/counts: how often each event happened, by UTC day of receipt. POST counts again what the log has.

const { clearTimeout, setTimeout } = require('node:timers')
const { timerMs } = require('@millrace/errors')
const { toPromise } = require('@millrace/flow')
const { expectNoBody } = require('./body')
const { formatDay, parseDay } = require('./counts/tally')
const { EVENTS } = require('./named-logs')
const { Problem, toProblem, unavailable } = require('./problem')
const { LINES_TYPE, sendLines } = require('./read-routes')
const { docs } = require('./schemas')

/**
 * @typedef {import('./counts/counter').Counter} Counter
 * @typedef {import('./plugin').Context} Context
 *
 * @typedef {object} Query
 * @property {number} from  a day
 * @property {number} to  the last one
 * @property {string | undefined} source
 * @property {string | undefined} event
 */

/** @type {(routes: any, context: Context) => void} */
function addCountRoutes (routes, context) {
  const { options: { limits }, logs } = context
  routes.add('GET', '/v1/se/counts', { action: 'read', log: EVENTS }, async (/** @type {any} */ request, /** @type {any} */ reply) => {
    const query = parseQuery(request.query)
    reply.header('Content-Type', LINES_TYPE)
    if (!logs.names.has(EVENTS) && logs.isOpen) return endLine({ reason: 'end' })
    const entry = await logs.acquire(EVENTS, false)
    try {
      const counter = /** @type {Counter} */ (entry.counter)
      await within(counter.catchUp(), limits.scanMs)
      if (request.method === 'HEAD') {
        logs.release(entry)
        return reply.send()
      }
      sendLines(reply, linesOf(counter, query, limits.scanMs), limits.stallMs, () => logs.release(entry))
      return reply
    } catch (err) {
      logs.release(entry)
      throw err
    }
  }, { doc: docs.counts })
  // It reads the whole log, so not every key may do it.
  routes.add('POST', '/v1/se/counts', { action: 'write', log: '*' }, async (/** @type {any} */ request) => {
    await toPromise((cb) => expectNoBody(request, context, 'counting again needs no body', cb))
    if (!logs.names.has(EVENTS) && logs.isOpen) return { from: null, events: 0, incomplete: null }
    const entry = await logs.acquire(EVENTS, false)
    try {
      return await /** @type {Counter} */ (entry.counter).recount()
    } finally {
      logs.release(entry)
    }
  }, { doc: docs.recount })
}

/** @type {(given: Record<string, string | undefined>) => Query} throws a Problem */
function parseQuery ({ since, until, source, event }) {
  return { from: parseBound('since', since) ?? -Infinity, to: parseBound('until', until) ?? Infinity, source, event }
}

/** @type {(name: string, text: string | undefined) => number | null} throws a Problem */
function parseBound (name, text) {
  const day = text === undefined ? null : parseDay(text)
  if (text === undefined || day !== null) return day
  throw new Problem(400, `${name} is no day that exists, ${JSON.stringify(text)}`, { code: 'bad_query' })
}

/** @type {(counting: Promise<void>, ms: number) => Promise<void>} throws a Problem */
async function within (counting, ms) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(unavailable('the events of the log are still being counted')), timerMs(ms))
  })
  await Promise.race([counting, late]).finally(() => clearTimeout(timer))
}

/**
 * A failure after the begin is a last line, since the status has been sent.
 * @param {Counter} counter
 * @param {Query} query
 * @param {number} budgetMs
 * @returns {AsyncGenerator<string, void>}
 */
async function * linesOf (counter, { from, to, source, event }, budgetMs) {
  const endMs = performance.now() + budgetMs
  try {
    for (const day of counter.listDays()) {
      if (day < from || day > to) continue
      const text = formatDay(day)
      if (performance.now() > endMs) return yield endLine({ reason: 'budget', next: { since: text } })
      const rows = await counter.readDay(day)
      const wanted = rows.filter((row) => row[0] === (source ?? row[0]) && row[1] === (event ?? row[1]))
      yield wanted.map(([source, event, count]) => `${JSON.stringify({ day: text, source, event, count })}\n`).join('')
    }
    yield endLine({ reason: 'end' })
  } catch (err) {
    yield `${JSON.stringify({ error: toProblem(err) })}\n`
  }
}

/** @param {{ reason: 'end' | 'budget', next?: { since: string } }} end */
function endLine (end) {
  return `${JSON.stringify({ end })}\n`
}

exports.addCountRoutes = addCountRoutes
