'use strict'
// A tour of the package, in the order of its README.

const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { createIngest, createKey } = require('..')

/** A server with plain requests. */
async function serve (t, options) {
  const folder = options?.folder ?? temporaryFolder()
  const server = createIngest({ port: 0, ...options, folder })
  t.teardown(() => server.close())
  const url = await server.listen()
  await server.ready()
  const ask = async (place, { headers, ...options } = {}) => {
    const answer = await fetch(url + place, { ...options, headers })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const post = (place, body, headers) => {
    return ask(place, { method: 'POST', body, headers: { 'Content-Type': 'application/json', ...headers } })
  }
  return { ask, post, url }
}

const linesOf = (text) => text.trim().split('\n').map((line) => JSON.parse(line))

tape('tour: clients append records, and read them back through a filter', async (t) => {
  const { ask, post } = await serve(t)
  const records = [{ user: 'ada', event: 'login' }, { user: 'bob', event: 'login' }]
  const answer = await post('/v1/logs/events', JSON.stringify(records), { Prefer: 'ack=synced' })
  const { ack, count } = JSON.parse(answer.text)
  t.deepEqual([answer.status, ack, count], [200, 'synced', 2])

  const where = encodeURIComponent('{"path":"user","equals":"bob"}')
  const [{ value }] = linesOf((await ask(`/v1/logs/events?where=${where}`)).text)
  t.deepEqual(value, records[1])
  t.ok((await ask('/v1/logs')).text.includes('events'))
})

tape('tour: the answer says what the records survive', async (t) => {
  const { post } = await serve(t)
  for (const [ack, status] of [['buffered', 202], ['written', 200], ['synced', 200]]) {
    const answer = await post('/v1/logs/events', '{}', { Prefer: `ack=${ack}` })
    t.deepEqual([answer.status, JSON.parse(answer.text).ack], [status, ack])
  }
  t.equal(JSON.parse((await post('/v1/logs/events', '{}')).text).ack, 'written', 'by default')
})

tape('tour: a record a line, stored byte for byte', async (t) => {
  const { ask, post } = await serve(t)
  const body = '{"n":1.50}\n{"n":12345678901234567890}\n'
  t.equal((await post('/v1/logs/events', body, { 'Content-Type': 'application/x-ndjson' })).status, 200)
  const { text } = await ask('/v1/logs/events')
  t.ok(text.includes('1.50') && text.includes('12345678901234567890'), 'numbers keep all their digits')
})

tape('tour: a request is stored as a whole or not at all', async (t) => {
  const { ask, post } = await serve(t)
  await post('/v1/logs/events', '{"n":1}')
  const answer = await post('/v1/logs/events', '[{"n":2},{"n":]')
  t.equal(answer.status, 400)
  t.equal(linesOf((await ask('/v1/logs/events')).text).filter(({ value }) => value).length, 1)
})

tape('tour: a retry with a key stores nothing', async (t) => {
  const { ask, post } = await serve(t)
  const headers = { 'Idempotency-Key': 'once' }
  const first = await post('/v1/logs/events', '{"n":1}', headers)
  const second = await post('/v1/logs/events', '{"n":1}', headers)
  t.deepEqual(JSON.parse(second.text), JSON.parse(first.text))
  t.equal(linesOf((await ask('/v1/logs/events')).text).filter(({ value }) => value).length, 1)
})

tape('tour: while there are keys, every request but probes needs one', async (t) => {
  const folder = temporaryFolder()
  const { secret } = await createKey(path.join(folder, 'keys.json'), { scopes: ['write:events', 'read:*'] })
  const { ask, post } = await serve(t, { folder })
  t.equal((await post('/v1/logs/events', '{}')).status, 401)
  t.equal((await post('/v1/logs/events', '{}', { Authorization: `Bearer ${secret}` })).status, 200)
  t.equal((await post('/v1/logs/other', '{}', { Authorization: `Bearer ${secret}` })).status, 403)
  t.equal((await ask('/healthz')).status, 200)
})

tape('tour: pages of other sites can neither write nor read', async (t) => {
  const { ask, post } = await serve(t)
  t.equal((await post('/v1/logs/events', '{}', { Origin: 'https://example.com' })).status, 403)
  const answer = await ask('/v1/logs')
  t.equal(answer.headers.get('access-control-allow-origin'), null)
})
