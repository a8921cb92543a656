'use strict'
// A server of its own around the plugin: what it refuses before a request is one, where it listens, and how it ends.

const { isIP } = require('node:net')
const { clearInterval, clearTimeout, setInterval, setTimeout } = require('node:timers')
const { LogController, fastify } = require('fastify')
const { misuse, timerMs } = require('@millrace/errors')
const { whatIsWrong } = require('./access')
const { listKeys } = require('./keys')
const { parseServerOptions } = require('./options')
const { addRoutes, createContext } = require('./plugin')
const { PROBLEM_TYPE, Problem, sendProblem } = require('./problem')

/** Of events: 100 characters, with two units each at most. */
const PARAM_LENGTH_MAX = 200
/** While a server is being closed, it looks so often for connections whose last answer has ended. */
const CLOSE_MS = 20
const STATUS_OF = /** @type {Record<string, number>} */ ({ HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 })

/**
 * @typedef {object} Ingest
 * @property {import('fastify').FastifyInstance} app  the fastify server
 * @property {() => Promise<string>} listen  begins to listen, and gives the URL
 * @property {() => Promise<void>} ready  waits until the folder is open. One server owns a folder; a second one waits,
 *   and answers 503
 * @property {() => Promise<void>} close  takes no more requests, ends live streams, and writes and syncs everything.
 *   Call it at SIGTERM
 */

/**
 * Makes a server around the plugin.
 * @param {import('./options').ServerOptions} given
 * @returns {Ingest}
 */
function createIngest (given) {
  const { ingest: options, accessLog, host, port, graceMs, ...limits } = parseServerOptions(given)
  const { connections, headerSize, requestMs, idleMs } = limits
  const context = createContext(options)
  /** @type {any} */
  const serverOptions = {
    ...loggerFor(accessLog),
    logController: new LogController({ disableRequestLogging: true }),
    exposeHeadRoutes: false,
    // The plugin answers then, in the form that its routes have.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: timerMs(requestMs),
    connectionTimeout: timerMs(idleMs),
    http: {
      maxHeaderSize: headerSize,
      headersTimeout: timerMs(requestMs),
      connectionsCheckingInterval: Math.min(5000, requestMs / 4)
    },
    routerOptions: { maxParamLength: PARAM_LENGTH_MAX },
    clientErrorHandler: refuseBytes,
    frameworkErrors: sendProblem
  }
  /** @type {import('fastify').FastifyInstance} */
  const app = /** @type {any} */ (fastify(serverOptions))
  app.server.maxConnections = connections
  // `connectionTimeout` ends idle connections too, with one timer for each. With this one, Node.js would make two new
  // timers for each request. fastify takes 0 for its default.
  app.server.keepAliveTimeout = 0
  // Otherwise Node.js ends a connection when its client has ended its side, and the answer to what it has sent is lost.
  Object.assign(app.server, { httpAllowHalfOpen: true })
  const closeUnused = watchConnections(app.server)
  if (accessLog) addAccessLog(app)
  app.register((app) => addRoutes(app, context))
  return {
    app,
    listen: async () => {
      const isLoopback = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
      const { keysFile, requireKeys, onReport } = context.options
      if (!isLoopback && !requireKeys && (await listKeys(keysFile)).length === 0) {
        throw misuse(`ingest: ${host} can be reached from other machines, and there are no keys. Make one with ` +
          '`millrace keys create`, or listen on 127.0.0.1')
      }
      const url = await app.listen({ host, port })
      const wrong = whatIsWrong(context.keys, context.options)
      if (wrong) onReport(new Error(wrong.text), 'keys')
      return url
    },
    ready: () => context.opened,
    close: async () => {
      // A half-sent request does not hold up the end for longer.
      const timer = setTimeout(() => app.server.closeAllConnections(), timerMs(graceMs))
      const looking = setInterval(closeUnused, CLOSE_MS)
      await app.close().finally(() => {
        clearTimeout(timer)
        clearInterval(looking)
      })
    }
  }
}

/**
 * Node.js waits for connections that were in use when the server was closed, or that a browser has made in advance.
 * @param {import('node:http').Server} server
 * @returns {() => void}  closes connections that no request is on
 */
function watchConnections (server) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return () => {
    server.closeIdleConnections()
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }
}

/** @param {import('./options').AccessLog | undefined} accessLog */
function loggerFor (accessLog) {
  if (accessLog === undefined) return { logger: false }
  return 'info' in accessLog ? { loggerInstance: accessLog } : { logger: { level: 'info', stream: accessLog } }
}

/**
 * A line when the answer has ended or was cut off, live streams included. Queries are left out: they may hold what
 * people have typed.
 * @param {import('fastify').FastifyInstance} app
 */
function addAccessLog (app) {
  app.addHook('onRequest', (request, reply, done) => {
    const beganMs = performance.now()
    const { method, url, raw: { socket: { remoteAddress: address } } } = request
    const path = url.split('?')[0]
    reply.raw.once('close', () => {
      const { statusCode: status, writableFinished } = reply.raw
      const ms = Math.round((performance.now() - beganMs) * 1000) / 1000
      const key = /** @type {any} */ (request).apiKey?.id
      request.log.info({ method, path, status, ms, address, key, ...(!writableFinished && { isCut: true }) }, 'request')
    })
    done()
  })
}

/** Bytes that are no request. @type {(err: any, socket: import('node:net').Socket) => void} */
function refuseBytes (err, socket) {
  if (err.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const problem = new Problem(STATUS_OF[err.code] ?? 400, 'this is no HTTP request, or it was not sent in time')
  const body = JSON.stringify(problem)
  const { status, title } = problem.toJSON()
  const headers = [`Content-Type: ${PROBLEM_TYPE}`, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close']
  socket.end(`HTTP/1.1 ${status} ${title}\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}

exports.createIngest = createIngest
