'use strict'
// The plugin in an application that has routes, bodies and errors of its own.

const { fastify } = require('fastify')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { ingest } = require('..')

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
