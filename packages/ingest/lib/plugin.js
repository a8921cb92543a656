'use strict'
// The fastify plugin: the routes, with their checks, around the logs of one folder.

const { MEDIA_TYPES } = require('@millrace/otlp')
const { AccessControl } = require('./access')
const { RECORD_TYPES } = require('./content')
const { addCountRoutes } = require('./count-routes')
const { addHealthRoutes } = require('./health-routes')
const { MemoryBudget } = require('./memory-budget')
const { Idempotency } = require('./idempotency')
const { Keys } = require('./keys')
const { Metrics, WriteMeter } = require('./metrics')
const { NamedLogs } = require('./named-logs')
const { parseOptions } = require('./options')
const { addOtlpRoute } = require('./otlp-route')
const { Problem, refuse, sendProblem, unavailable } = require('./problem')
const { addReadRoutes } = require('./read-routes')
const { Routes } = require('./routes')
const { Scans } = require('./scans')
const { EventLoopTurns } = require('./event-loop-turns')
const { addEventRoutes, addWriteRoutes } = require('./write-routes')

/** @typedef {import('fastify').FastifyInstance} App */

/**
 * What all routes share.
 * @typedef {object} Context
 * @property {import('./options').Options} options
 * @property {NamedLogs} logs
 * @property {Keys} keys
 * @property {Idempotency} idempotency
 * @property {Metrics} metrics
 * @property {EventLoopTurns} turns  which the work on bodies takes
 * @property {MemoryBudget} budget  of the requests
 * @property {Scans} scans
 * @property {AbortSignal} ending  aborted when the server stops
 * @property {Promise<void>} keysRead  before this, nobody may be let in
 * @property {Promise<void>} opened  resolves once the logs may be used; no other server has the folder then
 * @property {() => void} stop  ends live streams, and refuses new requests
 * @property {() => Promise<void>} close  writes and syncs everything
 */

/** @param {import('./options').IngestOptions} given @returns {Context} */
function createContext (given) {
  const options = parseOptions(given)
  const ending = new AbortController()
  const meter = new WriteMeter()
  const report = (/** @type {string} */ name, /** @type {Error} */ err) => {
    meter.failures++
    options.onReport(err, name)
  }
  const logs = new NamedLogs(options, report, meter)
  const keys = new Keys({ file: options.keysFile, storage: logs.storage }, (err) => report('keys', err), options.requireKeys)
  const turns = new EventLoopTurns()
  const budget = new MemoryBudget(options.limits.requestsSize)
  const scans = new Scans(options.limits.readers)
  const metrics = new Metrics(logs, meter, options.folder, { budget, scans })
  const { idempotencyKeys: count, idempotencyMs: ageMs } = options.limits
  const keysRead = keys.start()
  const opened = keysRead.then(() => logs.open())
  opened.catch((err) => ending.signal.aborted || report(options.folder, err))
  const stop = () => ending.abort()
  const close = async () => {
    stop()
    keys.stop()
    await logs.close()
    await opened.catch(() => {})
  }
  const idempotency = new Idempotency({ count, ageMs })
  const shared = { options, logs, keys, idempotency, metrics, turns, budget, scans }
  return { ...shared, ending: ending.signal, keysRead, opened, stop, close }
}

/**
 * The plugin for fastify: `app.register(ingest, { folder: 'data', prefix: '/events' })`. Its paths begin with the
 * prefix. Its routes, hooks and answers to errors are its own: the application around it keeps others. The plugin does
 * not know where your server listens: if other machines can reach it, make keys first. Limits for headers, times and
 * connections are those of your server.
 * @param {App} app
 * @param {import('./options').IngestOptions} options
 */
async function ingest (app, options) {
  await addRoutes(app, createContext(options))
}

/** @type {(app: App, context: Context) => Promise<void>} */
async function addRoutes (app, context) {
  const { options, keys } = context
  await context.keysRead
  app.decorateRequest('apiKey', null)
  app.decorateRequest('meter', null)
  app.decorateRequest('beganMs', 0)
  addMetering(app)
  addBodies(app)
  app.setErrorHandler(sendProblem)
  app.setSchemaErrorFormatter(refuse)
  const beginRequest = createBeginning(new AccessControl(keys, options), context)
  app.register(async (app) => {
    app.addHook('onRequest', beginRequest(undefined, context.metrics.unknown))
    app.setNotFoundHandler((request) => { throw new Problem(404, `there is no ${request.url.split('?')[0]}`) })
  })
  const routes = new Routes(app, context.metrics, beginRequest)
  addWriteRoutes(routes, context)
  addEventRoutes(routes, context)
  addCountRoutes(routes, context)
  addOtlpRoute(routes, context)
  addReadRoutes(routes, context)
  addHealthRoutes(routes, context)
  routes.addDocument()
  routes.refuseOtherMethods()
  app.addHook('preClose', async () => context.stop())
  app.addHook('onClose', () => context.close())
}

/**
 * What happens to every request first. Each route has a hook of its own: to ask fastify for the options of a route
 * costs more than all that is done here.
 * @type {(access: AccessControl, context: Context) => import('./routes').BeginRequest}
 */
function createBeginning (access, { ending }) {
  return (needed, meter) => (/** @type {any} */ request, reply, done) => {
    request.meter = meter
    request.beganMs = performance.now()
    reply.header('Cache-Control', 'no-store')
    // An acknowledgement shows nothing that anybody has sent.
    if (needed?.action !== 'write') reply.header('X-Content-Type-Options', 'nosniff')
    try {
      request.apiKey = access.check(request, reply, needed)
      if (ending.aborted) throw unavailable('the server is stopping')
      done()
    } catch (err) {
      done(/** @type {Error} */ (err))
    }
  }
}

/**
 * Answers are measured when they are handed over, streams when they end: a hook `onResponse` for all of them costs more
 * than all that is done first. Live streams never come here.
 * @type {(app: App) => void}
 */
function addMetering (app) {
  app.addHook('onSend', (request, { raw }, /** @type {any} */ payload, done) => {
    if (typeof payload?.pipe === 'function') raw.once('close', () => observe(request, raw))
    else observe(request, raw)
    done()
  })

  /** @type {(request: any, raw: import('node:http').ServerResponse) => void} */
  function observe ({ method, meter, beganMs }, { statusCode }) {
    // A hook of the application around the plugin may have answered first.
    meter?.observe(method, statusCode, (performance.now() - beganMs) / 1000)
  }
}

/** A route reads its body as it needs it. @param {App} app */
function addBodies (app) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...RECORD_TYPES, MEDIA_TYPES.protobuf], (request, stream, done) => done(null, stream))
}

exports.addRoutes = addRoutes
exports.createContext = createContext
exports.ingest = ingest
