'use strict'
// The OpenAPI document, and what schemathesis found: npm run openapi:test.

const tape = require('tape')
const { rawRequest, serve } = require('./helpers')

tape('openapi: the document has every path and method, and answers to each', async (t) => {
  const { ask } = await serve(t)
  const { status, body } = await ask('/openapi.json')
  t.deepEqual([status, body.openapi], [200, '3.1.0'])
  const found = Object.entries(body.paths).map(([path, operations]) => `${path} ${Object.keys(operations)}`)
  t.deepEqual(found.sort(), ['/healthz get,head', '/metrics get,head', '/openapi.json get,head', '/readyz get,head',
    '/v1/logs post,get,head', '/v1/logs/{name} post,get,head', '/v1/se/counts get,head,post',
    '/v1/se/{source}/{event} get,head,put,post'])
  for (const operation of Object.values(body.paths).flatMap((operations) => Object.values(operations))) {
    t.ok(operation.summary && operation.responses['200'] && operation.responses.default, operation.summary)
  }
})

tape('openapi: what no schema allows is refused, and the answer says which part', async (t) => {
  const { ask, post } = await serve(t)
  await post('/v1/logs/a', '1')
  const problemOf = async (...request) => {
    const { status, body } = await ask(...request)
    return [status, body.code, body.detail]
  }
  t.deepEqual(await problemOf('/v1/logs/a?limit=0'), [400, 'bad_query', 'query limit must be >= 1'])
  t.deepEqual((await problemOf('/v1/logs/A')).slice(0, 2), [400, 'bad_path'])
  const headers = { 'content-type': 'application/json', 'idempotency-key': '\u00e9' }
  t.deepEqual((await problemOf('/v1/logs/a', { method: 'POST', body: '1', headers })).slice(0, 2), [400, 'bad_header'])
  const times = ['2026-02-30', '2026-01-01T25:00:00Z', 'yesterday', '-1', '']
  for (const time of times) t.equal((await ask(`/v1/logs/a?since=${time}`)).status, 400, time)
  for (const time of ['1790000000000', '2026-11-23', '2026-11-23T10:00:00%2B01:00']) t.equal((await ask(`/v1/logs/a?since=${time}`)).status, 200, time)
})

tape('openapi: methods that are not in the document are 405, TRACE and QUERY too', async (t) => {
  const { url } = await serve(t)
  const { host } = new URL(url)
  for (const method of ['TRACE', 'QUERY', 'DELETE']) {
    const { status, headers } = await rawRequest(url, { path: '/v1/se/counts', method, headers: { host } })
    t.deepEqual([status, headers.allow], [405, 'GET, HEAD, POST'], method)
  }
})
