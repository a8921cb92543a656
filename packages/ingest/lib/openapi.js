'use strict'
// The OpenAPI document, made from the schemas that validate requests.

const { version } = require('../package.json')

/**
 * @typedef {import('./schemas').Doc} Doc
 * @typedef {import('./schemas').Schema} Schema
 * @typedef {{ url: string, methods: string[], doc: Doc, needsKey: boolean }} Route
 */

const PROBLEM = {
  description: 'a problem, as RFC 9457 has it',
  content: {
    'application/problem+json': {
      schema: {
        type: 'object',
        properties: {
          type: { type: 'string' },
          title: { type: 'string' },
          status: { type: 'integer' },
          detail: { type: 'string', description: 'what was found and what to do' },
          code: { type: 'string', description: 'for programs' }
        },
        required: ['type', 'title', 'status', 'detail']
      }
    }
  }
}

const KEY = { type: 'http', scheme: 'bearer', description: 'needed once there is a file of keys' }

/** @type {(routes: Iterable<Route>) => object} */
function createDocument (routes) {
  /** @type {Record<string, any>} */
  const paths = {}
  for (const { url, methods, doc, needsKey } of routes) {
    const path = url.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    for (const method of methods) paths[path][method.toLowerCase()] = operationOf(method === 'HEAD' ? headOf(doc) : doc, needsKey)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Millrace ingest', version, license: { name: 'MIT', identifier: 'MIT' } },
    paths,
    components: { securitySchemes: { key: KEY } }
  }
}

/** The same without bodies. @param {Doc} doc @returns {Doc} */
function headOf (doc) {
  const answers = Object.entries(doc.answers).map(([status, { description }]) => [status, { description, content: {} }])
  return { ...doc, answers: Object.fromEntries(answers) }
}

/** @type {(doc: Doc, needsKey: boolean) => object} */
function operationOf ({ summary, params = {}, query = {}, headers = {}, body, answers }, needsKey) {
  const parameters = [
    ...parametersOf('path', params, true), ...parametersOf('query', query, false), ...parametersOf('header', headers, false)
  ]
  const responses = Object.entries(answers).map(([status, { description, content }]) => {
    return [status, { description, content: contentOf(content) }]
  })
  return {
    summary,
    parameters,
    ...(body && { requestBody: { required: true, content: contentOf(body) } }),
    responses: { default: PROBLEM, ...Object.fromEntries(responses) },
    // A server without keys asks for none.
    security: needsKey ? [{ key: [] }, {}] : []
  }
}

/** @type {(place: string, schemas: Record<string, Schema>, required: boolean) => object[]} */
function parametersOf (place, schemas, required) {
  return Object.entries(schemas).map(([name, { description, ...schema }]) => {
    return { name, in: place, required, description, schema }
  })
}

/** @param {Record<string, Schema>} content */
function contentOf (content) {
  return Object.fromEntries(Object.entries(content).map(([type, schema]) => [type, { schema }]))
}

exports.createDocument = createDocument
