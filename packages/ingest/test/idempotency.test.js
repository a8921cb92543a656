'use strict'
// Idempotency keys: a retry stores nothing and gets the first answer, after a crash too.

const path = require('node:path')
const tape = require('tape')
const { temporaryFolder } = require('@millrace/testkit')
const { createKey } = require('..')
const { serve, startProcess } = require('./helpers')

const keyed = (key, more = {}) => ({ 'idempotency-key': key, ...more })

tape('idempotency: a retry gets the first answer, another body 422, other keys and logs are apart', async (t) => {
  const { post, read } = await serve(t)
  const first = await post('/v1/logs/a', '[1,2]', keyed('k1'))
  const retry = await post('/v1/logs/a', '[1,2]', keyed('k1', { prefer: 'ack=synced' }))
  t.deepEqual([retry.status, retry.body.count, retry.body.last], [200, 2, first.body.last])
  t.deepEqual([retry.body.ack, retry.headers.get('idempotency-replayed')], ['synced', 'true'])
  const { status, body } = await post('/v1/logs/a', '[1,3]', keyed('k1'))
  t.deepEqual([status, body.code], [422, 'key_reused'])
  t.equal((await post('/v1/logs/a', '[1,2]', keyed('k2'))).headers.get('idempotency-replayed'), null)
  t.equal((await post('/v1/logs/b', '[1,2]', keyed('k1'))).headers.get('idempotency-replayed'), null)
  t.equal((await post('/v1/logs/a', '1', keyed('x'.repeat(300)))).status, 400)
  t.equal((await read('/v1/logs/a')).records.length, 4)
  t.notOk(JSON.stringify((await read('/v1/logs/a')).records).includes('idempotency'), 'readers do not see the mark')
})

tape('idempotency: of concurrent requests one stores, and the others are told to wait', async (t) => {
  const { post, read } = await serve(t)
  await post('/v1/logs/a', '0', keyed('k0'))
  const answers = await Promise.all(Array.from({ length: 10 }, () => post('/v1/logs/a?ack=synced', '"once"', keyed('k1'))))
  t.ok(answers.every(({ status }) => status === 200 || status === 409), answers.map(({ status }) => status).join())
  t.equal((await read('/v1/logs/a')).records.length, 2)
})

tape('idempotency: keys are scoped by API key', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const bearers = []
  for (let i = 0; i < 2; i++) bearers.push(`Bearer ${(await createKey(file, { scopes: ['write:a'] })).secret}`)
  const { post } = await serve(t, { folder })
  const lasts = []
  for (const authorization of [bearers[0], bearers[1], bearers[0]]) {
    lasts.push((await post('/v1/logs/a', '1', keyed('k', { authorization }))).body.last)
  }
  t.ok(lasts[0] !== lasts[1] && lasts[0] === lasts[2], lasts.join())
})

tape('idempotency: a retry after a kill stores nothing', async (t) => {
  const folder = temporaryFolder()
  const first = await startProcess(folder)
  const { body } = await first.post('/v1/logs/a', '[1,2,3]', keyed('k1'))
  first.child.kill('SIGKILL')
  await first.ended
  const second = await startProcess(folder)
  t.teardown(() => second.child.kill('SIGKILL'))
  const retry = await second.post('/v1/logs/a', '[1,2,3]', keyed('k1'))
  t.deepEqual([retry.body.last, retry.body.count, retry.headers.get('idempotency-replayed')], [body.last, 3, 'true'])
  t.equal((await second.post('/v1/logs/a', '[1]', keyed('k1'))).status, 422)
  t.equal((await second.read('/v1/logs/a')).records.length, 3)
})
