'use strict'
// Events without a body.

const tape = require('tape')
const { serve } = require('./helpers')

tape('events: by PUT, GET and POST, with key and value', async (t) => {
  const { ask, read } = await serve(t)
  const status = async (path, method) => (await ask(path, { method })).status
  t.equal(await status('/v1/se/door/open', 'PUT'), 200)
  t.equal(await status('/v1/se/door/open?key=who&value=ada%20l', 'GET'), 200)
  t.equal(await status('/v1/se/door/caf%C3%A9?ack=buffered', 'POST'), 202)
  for (const path of ['/v1/se/door/', '/v1/se/door/open?key=a&key=b', '/v1/se/door/open?key=', `/v1/se/door/open?value=${'x'.repeat(101)}`]) {
    t.equal(await status(path, 'PUT'), 400, path.slice(0, 30))
  }
  const long = await status(`/v1/se/${'x'.repeat(101)}/open`, 'PUT')
  t.ok(long === 404 || long === 414, String(long))
  t.equal(await status('/v1/se/door/open', 'DELETE'), 405)
  await new Promise((resolve) => setTimeout(resolve, 150))
  const { records } = await read('/v1/logs/se')
  t.deepEqual(records.map(({ value }) => value), [
    { source: 'door', event: 'open' }, { source: 'door', event: 'open', key: 'who', value: 'ada l' }, { source: 'door', event: 'café' }
  ])
})
