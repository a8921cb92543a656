'use strict'
// The plugin in an application that has routes, bodies and errors of its own.

const { fastify } = require('fastify')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest, ingest } = require('..')
const { serve } = require('./helpers')

tape('plugin: beside the routes of an application, which keep their own bodies and errors', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  app.post('/own', async ({ body }) => ({ got: body.n }))
  app.get('/fails', async () => { throw new Error('own error') })
  await app.register(ingest, { folder: temporaryFolder(), prefix: '/events' })
  const host = 'localhost'
  const json = { 'content-type': 'application/json', host }
  while ((await app.inject({ url: '/events/readyz', headers: { host } })).statusCode !== 200) await new Promise(setImmediate)
  const stored = await app.inject({ method: 'POST', url: '/events/v1/logs/a', headers: json, payload: '{"n":1}' })
  t.deepEqual([stored.statusCode, stored.json().count], [200, 1])
  t.match((await app.inject({ url: '/events/v1/logs/a', headers: { host } })).payload, /"value":\{"n":1\}/)
  t.equal((await app.inject({ url: '/events/v1/logs/a', headers: { host: 'evil.example' } })).statusCode, 403)
  t.deepEqual((await app.inject({ method: 'POST', url: '/own', headers: { ...json, host: 'any.example' }, payload: '{"n":2}' })).json(), { got: 2 })
  t.equal((await app.inject({ url: '/fails' })).json().message, 'own error')
})

tape('access log: a line for each request, live streams and failures included, without queries and secrets', async (t) => {
  const lines = []
  const write = (line) => {
    const entry = JSON.parse(line)
    if (entry.msg === 'request') lines.push(entry)
  }
  const { ask, post, url, server } = await serve(t, { accessLog: { write } })
  await post('/v1/logs/a?ack=synced', '1', { authorization: 'Bearer mr_secret' })
  await ask('/v1/logs/none%0a')
  const aborting = new AbortController()
  await fetch(`${url}/v1/logs/a`, { headers: { accept: 'text/event-stream' }, signal: aborting.signal })
  aborting.abort()
  while (lines.length < 3) await new Promise((resolve) => setTimeout(resolve, 5))
  t.deepEqual(lines.map(({ method, path, status, isCut }) => [method, path, status, isCut]), [
    ['POST', '/v1/logs/a', 200, undefined], ['GET', '/v1/logs/none%0a', 400, undefined], ['GET', '/v1/logs/a', 200, true]
  ])
  t.ok(lines.every(({ ms, address, level }) => ms >= 0 && /127.0.0.1$/.test(address) && level === 30))
  t.notOk(JSON.stringify(lines).includes('secret'))
  await server.close()
  t.throws(() => createIngest({ folder: 'x', accessLog: 'file' }), { code: 'ERR_INVALID_ARGUMENT' })
})
