'use strict'
// Events without a body.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { until } = require('@millrace/testkit')
const { serve } = require('./helpers')

tape('events: with a dictionary they are the same, in a quarter of the room', async (t) => {
  const sizes = []
  const answers = []
  for (const dictionary of [false, true]) {
    const { ask, read, post, folder } = await serve(t, { dictionary })
    for (let index = 0; index < 100; index++) {
      await ask(`/v1/se/source-${index % 30}/event-${index % 7}?ack=buffered${index % 3 ? '' : '&key=user'}`, { method: 'PUT' })
    }
    await post('/v1/logs/se', '{"own": " \\"text\\" "}', { 'idempotency-key': '"one"' })
    const filter = encodeURIComponent(JSON.stringify({ path: 'source', equals: 'source-3' }))
    const all = (await read('/v1/logs/se')).records.map(({ value }) => value)
    const some = (await read(`/v1/logs/se?where=${filter}`)).records.map(({ value }) => value)
    answers.push({ all, some })
    const [segment] = fs.readdirSync(path.join(folder, 'log-se')).filter((name) => name.endsWith('.log'))
    const bytes = fs.readFileSync(path.join(folder, 'log-se', segment)).subarray(32768)
    sizes.push(bytes.indexOf(Buffer.alloc(200)) === -1 ? bytes.length : bytes.indexOf(Buffer.alloc(200)))
  }
  t.deepEqual(answers[1], answers[0])
  t.equal(answers[0].all.length, 101)
  t.equal(answers[0].some.length, 4)
  t.ok(sizes[1] < sizes[0] / 2, sizes.join(' and '))
})

tape('events: by PUT, GET and POST, with key and value', async (t) => {
  const { ask, read } = await serve(t)
  const status = async (path, method) => (await ask(path, { method })).status
  t.equal(await status('/v1/se/door/open', 'PUT'), 200)
  t.equal(await status('/v1/se/door/open?key=who&value=ada%20l', 'GET'), 200)
  t.equal(await status('/v1/se/door/caf%C3%A9?ack=buffered', 'POST'), 202)
  for (const path of ['/v1/se/door/', '/v1/se/door/open?key=a&key=b', '/v1/se/door/open?key=', `/v1/se/door/open?value=${'x'.repeat(101)}`]) {
    t.equal(await status(path, 'PUT'), 400, path.slice(0, 30))
  }
  t.equal(await status(`/v1/se/${'x'.repeat(101)}/open`, 'PUT'), 400)
  t.equal(await status(`/v1/se/${'\u{1f600}'.repeat(100)}/open?ack=synced`, 'PUT'), 200, '100 characters of two units')
  t.equal(await status('/v1/se/door/open', 'DELETE'), 405)
  let records = []
  // One of them is buffered.
  await until(async () => { ({ records } = await read('/v1/logs/se')); return records.length === 4 })
  t.deepEqual(records.map(({ value }) => value).slice(0, 3), [
    { source: 'door', event: 'open' }, { source: 'door', event: 'open', key: 'who', value: 'ada l' }, { source: 'door', event: 'café' }
  ])
})
