'use strict'
// Declares routes with their schemas, describes them, and refuses what their paths do not have.

const AjvCompiler = require('@fastify/ajv-compiler')
const { createDocument } = require('./openapi')
const { Problem } = require('./problem')
const { createQueryCheck } = require('./query')
const { docs } = require('./schemas')

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']

/**
 * @typedef {import('./access').Access} Access
 * @typedef {import('fastify').FastifyInstance} App
 * @typedef {import('fastify').FastifyReply} Reply
 * @typedef {typeof import('./problem').sendProblem} ErrorHandler
 * @typedef {ReturnType<import('./metrics').Metrics['meterOf']>} RouteMeter
 * @typedef {import('fastify').onRequestHookHandler} OnRequest
 * @typedef {(access: Access | undefined, meter: RouteMeter) => OnRequest} BeginRequest  the first hook of a route
 */

class Routes {
  #app
  #metrics
  #beginRequest
  /** By path. @type {Map<string, string[]>} */
  #methods = new Map()
  /** @type {import('./openapi').Route[]} */
  #described = []

  /** @param {App} app  @param {import('./metrics').Metrics} metrics  @param {BeginRequest} beginRequest */
  constructor (app, metrics, beginRequest) {
    this.#app = app
    this.#metrics = metrics
    this.#beginRequest = beginRequest
    app.setValidatorCompiler(createValidatorCompiler())
    for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }

  /**
   * Where there is GET, there is HEAD: Node.js leaves the body out. A handler whose body costs much looks for it.
   * @param {string | string[]} method
   * @param {string} url
   * @param {Access} access
   * @param {(request: any, reply: Reply) => any} handler
   * @param {{ doc?: import('./schemas').Doc, errorHandler?: ErrorHandler }} [options]  without `doc`, the handler
   *   validates, and the route is not in the document. `errorHandler`: if failures are no problems of RFC 9457 here
   */
  add (method, url, access, handler, { doc, ...options } = {}) {
    const methods = [method].flat().flatMap((method) => method === 'GET' ? ['GET', 'HEAD'] : method)
    this.#methods.set(url, [...this.#methods.get(url) ?? [], ...methods])
    const schema = {
      ...objectOf('params', doc?.params), ...objectOf('headers', doc?.headers),
      // Where there are no parameters, none is taken.
      ...objectOf('querystring', doc && (doc.query ?? {}))
    }
    const onRequest = this.#beginRequest(access, this.#metrics.meterOf(url))
    /** @type {any} */
    const route = { method: methods, url, exposeHeadRoute: false, onRequest, handler, schema, ...options }
    this.#app.route(route)
    if (doc) this.#described.push({ url, methods, doc, needsKey: access.action !== 'none' })
  }

  /** `/openapi.json`, with the routes that were declared so far. */
  addDocument () {
    /** @type {object | undefined} */
    let document
    this.add('GET', '/openapi.json', { action: 'none' }, () => {
      document ??= createDocument(this.#described)
      return document
    }, { doc: docs.openapi })
  }

  refuseOtherMethods () {
    for (const [url, methods] of this.#methods) {
      const others = METHODS.filter((method) => !methods.includes(method))
      const headers = { Allow: methods.join(', ') }
      this.#app.route({
        method: /** @type {any} */ (others),
        url,
        exposeHeadRoute: false,
        // Before the body is read: its type does not matter.
        onRequest: [this.#beginRequest(undefined, this.#metrics.unknown), ({ method }, reply, done) => {
          done(new Problem(405, `${method} is not for this path; it has ${headers.Allow}`, { headers }))
        }],
        handler: () => {}
      })
    }
  }
}

/** @type {(place: string, properties: Record<string, object> | undefined) => object} */
function objectOf (place, properties) {
  return properties ? { [place]: { type: 'object', properties } } : {}
}

/**
 * The one that Fastify has if none is set. Nothing of queries and headers is required, and most requests have nothing
 * of it: then there is nothing to validate.
 */
function createValidatorCompiler () {
  const compile = AjvCompiler()({}, { customOptions: {} })
  return (/** @type {any} */ part) => {
    const validate = compile(part)
    if (part.httpPart === 'params') return validate
    const { properties } = part.schema
    const names = Object.keys(properties)
    const check = part.httpPart === 'querystring' ? createQueryCheck(properties) : null
    /** @param {any} values */
    const validateGiven = (values) => {
      const error = check?.(values)
      if (error) return { error }
      for (const name of names) if (values[name] !== undefined) return validate(values)
      return true
    }
    return /** @type {any} */ (Object.defineProperty(validateGiven, 'errors', { get: () => validate.errors }))
  }
}

exports.Routes = Routes
