'use strict'
// A server for a test, and requests to it.

const { fork } = require('node:child_process')
const { once } = require('node:events')
const http = require('node:http')
const path = require('node:path')
const { fastify } = require('fastify')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('..')
const { addRoutes, createContext } = require('../lib/plugin')
const { makeRecord, stampRecords } = require('../lib/record')

/** A server that ends with the test. */
async function serve (t, options = {}) {
  const folder = options.folder ?? temporaryFolder()
  const reports = []
  const server = createIngest({ port: 0, onReport: (err, log) => reports.push({ err, log }), ...options, folder })
  t.teardown(() => server.close())
  const url = await server.listen()
  await server.ready()
  return { ...clientOf(url), server, folder, url, reports }
}

/** A server whose insides can be seen. */
async function serveOpen (t, options) {
  const context = createContext({ folder: temporaryFolder(), ...options })
  const app = fastify()
  app.register((app) => addRoutes(app, context))
  t.teardown(() => app.close())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  await context.opened
  return { context, url, ...clientOf(url) }
}

function clientOf (url) {
  const ask = async (path, { headers, ...options } = {}) => {
    const response = await fetch(url + path, { ...options, headers })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '') && !/ndjson/.test(response.headers.get('content-type'))
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : null }
  }
  const post = (path, body, headers = {}) => ask(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  const read = async (path, headers) => {
    const { status, text, body } = await ask(path, { headers })
    if (status !== 200) return { status, body }
    const lines = text.trimEnd().split('\n').map((line) => JSON.parse(line))
    return { status, records: lines.slice(0, -1), end: lines.at(-1).end }
  }
  // What is being dropped ends a read.
  const readAll = async (path) => {
    let answer
    do answer = await read(path)
    while (answer.end?.reason !== 'end')
    return answer.records
  }
  return { ask, post, read, readAll }
}

/** A request with headers that fetch does not allow. */
function rawRequest (url, { path = '/', method = 'GET', headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(url + path, { method, headers, agent: false }, (response) => {
      let text = ''
      response.on('data', (data) => { text += data })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** A server in a process of its own. */
async function startProcess (folder, options = {}, execArgv = []) {
  const child = fork(path.join(__dirname, 'server-process.js'), [JSON.stringify({ folder, port: 0, ...options })], { execArgv })
  const ended = once(child, 'exit')
  const [url] = await once(child, 'message')
  return { child, ended, url, folder, ...clientOf(url) }
}

/** Texts as the records of a log. */
function encodeRecords (timeMs, texts, mark = null) {
  const records = texts.map(makeRecord)
  stampRecords(records, timeMs, mark)
  return records
}

exports.encodeRecords = encodeRecords
exports.serve = serve
exports.serveOpen = serveOpen
exports.clientOf = clientOf
exports.rawRequest = rawRequest
exports.startProcess = startProcess
