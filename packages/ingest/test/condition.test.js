'use strict'
// POST with `if`: records are stored only if no other record matches, and the answer says which one does.

const path = require('node:path')
const tape = require('tape')
const { createKey } = require('..')
const { serve } = require('./helpers')

const CALLER_COUNT = 16
const where = (n) => encodeURIComponent(JSON.stringify({ path: 'key', equals: n }))

tape('condition: 412 with the seq of the record that matches, and nothing is stored', async (t) => {
  const { post, read } = await serve(t)
  const first = await post(`/v1/logs/a?if=${where('x')}`, '{"key":"x"}')
  t.deepEqual([first.status, first.body.ack, first.body.count], [200, 'written', 1])
  const refused = await post(`/v1/logs/a?if=${where('x')}`, '{"key":"x"}')
  t.deepEqual([refused.status, refused.body.code, refused.body.seq], [412, 'ERR_APPEND_CONDITION', first.body.last])
  t.match(refused.headers.get('content-type'), /^application\/problem\+json/)
  t.equal((await post(`/v1/logs/a?if=${where('x')}&since=${first.body.last}&ack=synced`, '[{"key":"x"},{"key":"y"}]')).body.ack, 'synced')
  t.equal((await post(`/v1/logs/a?if=${where('x')}&since=${first.body.last}`, '1')).status, 412)
  t.equal((await read('/v1/logs/a')).records.length, 3)
})

tape('condition: 410 for a since that the log does not have, which is no failure of the log', async (t) => {
  const failures = []
  const { post, read } = await serve(t, { onReport: (err) => failures.push(err) })
  const { body: { last } } = await post('/v1/logs/a', '{"key":"x"}')
  const refused = await post(`/v1/logs/a?if=${where('y')}&since=${last + 2 ** 40}`, '{"key":"y"}')
  t.deepEqual([refused.status, refused.body.code, refused.body.seq], [410, 'ERR_LOG_SEQ_LOST', last + 2 ** 40])
  t.equal((await read('/v1/logs/a')).records.length, 1)
  t.deepEqual(failures, [])
})

tape('condition: what was acknowledged before counts, also if it is only buffered', async (t) => {
  const { post, read } = await serve(t, { bufferMs: 1000 })
  const buffered = await post('/v1/logs/a?ack=buffered', '{"key":"x"}')
  t.equal(buffered.status, 202)
  const refused = await post(`/v1/logs/a?if=${where('x')}&ack=buffered`, '{"key":"x"}')
  t.equal(refused.status, 412)
  t.equal((await read('/v1/logs/a')).records[0].seq, refused.body.seq)
  t.equal((await post(`/v1/logs/a?if=${where('y')}&ack=buffered`, '{"key":"y"}')).body.ack, 'written', 'no decision is only buffered')
})

tape('condition: who has found nothing takes `since` from the last line', async (t) => {
  const { post, read } = await serve(t)
  await post('/v1/logs/a', '[{"key":"x"},{"key":"z"}]')
  for (const query of ['', '&gt=-1', '&limit=5']) {
    const key = `y${query}`
    const seen = await read(`/v1/logs/a?where=${where(key)}${query}`)
    t.deepEqual([seen.records, seen.end.reason], [[], 'end'])
    const since = seen.end.next.gte - 1
    const add = () => post(`/v1/logs/a?if=${where(key)}&since=${since}`, JSON.stringify({ key }))
    t.deepEqual([(await add()).status, (await add()).status], [200, 412])
  }
})

tape(`condition: ${CALLER_COUNT} clients count without a gap`, async (t) => {
  const { post, read } = await serve(t)
  const addOne = async () => {
    for (;;) {
      const { records = [] } = await read(`/v1/logs/a?where=${where('n')}&reverse=true&limit=1`)
      const [{ seq, value: { count } } = { seq: -1, value: { count: 0 } }] = records
      const { status } = await post(`/v1/logs/a?if=${where('n')}&since=${seq}`, JSON.stringify({ key: 'n', count: count + 1 }))
      if (status === 200) return
      if (status !== 412) throw new Error(`status ${status}`)
    }
  }
  await post('/v1/logs/a', '{"key":"other"}')
  await Promise.all(Array.from({ length: CALLER_COUNT }, async () => {
    await addOne()
    await post('/v1/logs/a', '{"key":"other"}')
    await addOne()
  }))
  const { records } = await read(`/v1/logs/a?where=${where('n')}`)
  t.deepEqual(records.map(({ value: { count } }) => count), Array.from({ length: CALLER_COUNT * 2 }, (_, n) => n + 1))
})

tape('condition: a retry with the same idempotency key gets the first answer, not a refusal', async (t) => {
  const { post, read } = await serve(t)
  const send = () => post(`/v1/logs/a?if=${where('x')}`, '{"key":"x"}', { 'idempotency-key': 'once' })
  const first = await send()
  const second = await send()
  t.deepEqual([second.status, second.body.last], [200, first.body.last])
  t.equal((await read('/v1/logs/a')).records.length, 1)
})

tape('condition: the description says how long a filter may be', async (t) => {
  const { ask, post } = await serve(t)
  const { body: { paths } } = await ask('/openapi.json')
  const { schema: { maxLength } } = paths['/v1/logs/{name}'].post.parameters.find(({ name }) => name === 'if')
  const ofLength = (length) => JSON.stringify({ path: 'key', equals: 'x' }).replace('x', (x) => x.repeat(length - 26))
  for (const [length, status] of [[maxLength, 200], [maxLength + 1, 400]]) {
    const filter = ofLength(length)
    t.equal(filter.length, length)
    t.equal((await post(`/v1/logs/a?if=${encodeURIComponent(filter)}`, '1')).status, status)
  }
})

tape('condition: what is wrong with it is told, and a key that may only write may not ask', async (t) => {
  const { post, folder } = await serve(t)
  for (const query of ['since=3', 'if=1', 'if={', `if=${where('x')}&since=x`, `if=${where('x'.repeat(300))}`]) {
    t.equal((await post(`/v1/logs/a?${query}`, '1')).status, 400, query.slice(0, 20))
  }
  const status = async (scopes) => {
    const { secret } = await createKey(path.join(folder, 'keys.json'), { scopes })
    const closed = await serve(t, { folder: path.join(folder, scopes.join()), keysFile: path.join(folder, 'keys.json'), requireKeys: true })
    return (await closed.post(`/v1/logs/a?if=${where('x')}`, '1', { authorization: `Bearer ${secret}` })).status
  }
  t.equal(await status(['write:*']), 403)
  t.equal(await status(['write:*', 'read:*']), 200)
})
