'use strict'
// What Prometheus, and whoever starts the server, is told.

const path = require('node:path')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { faultyStorage, stopClock, temporaryFolder } = require('@millrace/testkit')
const { createKey } = require('..')
const { serve } = require('./helpers')

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)+)\})? (\S+)$/

/** Samples by name and labels, and the type of each metric. Throws if the text is not in Prometheus' format. */
function parseMetrics (text) {
  const samples = new Map()
  const types = new Map()
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, name, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (name !== undefined && types.has(name)) throw new Error(`twice: ${name}`)
    if (name !== undefined) types.set(name, type)
    if (line.startsWith('# ')) continue
    const [, sample, labels = '', value] = SAMPLE.exec(line) ?? []
    if (sample === undefined || !/^([\d.e+-]+|nan)$/i.test(value)) throw new Error(`no sample: ${line}`)
    if (samples.has(`${sample}{${labels}}`)) throw new Error(`twice: ${line}`)
    samples.set(`${sample}{${labels}}`, Number(value))
  }
  return { samples, types }
}

async function scrape ({ ask }) {
  const { headers, text } = await ask('/metrics')
  if (!headers.get('content-type').startsWith('text/plain; version=0.0.4')) throw new Error(headers.get('content-type'))
  return parseMetrics(text)
}

tape('metrics: requests, writes, logs and readers, with the names and units of Prometheus', async (t) => {
  const server = await serve(t)
  const { ask, post, url } = server
  for (let n = 0; n < 3; n++) await post('/v1/logs/a?ack=synced', '[1,2]')
  await ask('/v1/se/door/open', { method: 'PUT' })
  const aborting = new AbortController()
  await fetch(`${url}/v1/logs/a`, { headers: { accept: 'text/event-stream' }, signal: aborting.signal })
  const { samples, types } = await scrape(server)
  aborting.abort()
  const posted = 'method="POST",route="/v1/logs/:name"'
  t.equal(samples.get(`millrace_http_requests_total{${posted},status="200"}`), 3)
  t.equal(samples.get(`millrace_http_request_duration_seconds_count{${posted}}`), 3)
  const buckets = [...samples].filter(([name]) => name.startsWith(`millrace_http_request_duration_seconds_bucket{${posted}`))
  t.equal(buckets.length, 15)
  t.ok(buckets.every(([, count], index) => index === 0 || count >= buckets[index - 1][1]) && buckets.at(-1)[1] === 3)
  t.ok(samples.get(`millrace_http_request_duration_seconds_sum{${posted}}`) > 0)
  const values = ['appended_records_total', 'sync_duration_seconds_count', 'live_readers', 'open_logs', 'logs', 'ready', 'unwritten_bytes']
  t.deepEqual(values.map((name) => samples.get(`millrace_${name}{}`)), [7, 3, 1, 2, 2, 1, 0])
  t.ok(samples.get('millrace_log_size_bytes{log="a"}') > 32768)
  t.ok(samples.get('millrace_free_bytes{}') > 0 && samples.get('process_resident_memory_bytes{}') > 0)
  for (const [name, type] of types) {
    if (type === 'counter') t.match(name, /_total$/, `${name} is a counter`)
    else t.notOk(name.startsWith('millrace') && name.endsWith('_total'), `${name} is none`)
  }
})

tape('metrics: each answer is counted once, a stream when it has ended, and a live stream never', async (t) => {
  const server = await serve(t)
  const { ask, post, url } = server
  await post('/v1/logs/a', '[1,2]')
  for (let n = 0; n < 2; n++) await ask('/v1/logs/a')
  await ask('/nothing')
  await ask('/v1/logs/a', { method: 'DELETE' })
  await post('/v1/logs/a?ack=never', '1')
  const aborting = new AbortController()
  await fetch(`${url}/v1/logs/a`, { headers: { accept: 'text/event-stream' }, signal: aborting.signal })
  aborting.abort()
  const { samples } = await scrape(server)
  const counts = ['method="GET",route="/v1/logs/:name",status="200"', 'method="GET",route="none",status="404"',
    'method="DELETE",route="none",status="405"', 'method="POST",route="/v1/logs/:name",status="400"'
  ].map((labels) => samples.get(`millrace_http_requests_total{${labels}}`))
  t.deepEqual(counts, [2, 1, 1, 1])
})

tape('metrics: what clients send makes no new labels', async (t) => {
  const server = await serve(t)
  const { ask } = server
  const send = async () => {
    for (const path of ['/v1/se/a/', '/v1/se/b/c?value=', '/v1/logs/none', '/any']) {
      for (let n = 0; n < 5; n++) await ask(`${path}${Math.random()}`)
    }
    return [...(await scrape(server)).samples.keys()].filter((name) => name.startsWith('millrace_http'))
  }
  await send()
  t.deepEqual(await send(), await send())
})

tape('metrics: they show what waits and what is not synced', async (t) => {
  const server = await serve(t, { bufferMs: 60_000, log: { fsync: 'never' } })
  await server.post('/v1/logs/a', '1')
  await server.post('/v1/logs/a?ack=buffered', '"waits"')
  await new Promise((resolve) => setTimeout(resolve, 60))
  const { samples } = await scrape(server)
  t.equal(samples.get('millrace_unwritten_batches{}'), 1)
  t.ok(samples.get('millrace_unwritten_bytes{}') > 7)
  t.ok(samples.get('millrace_unwritten_age_seconds{}') >= 0.05)
  t.ok(samples.get('millrace_unsynced_age_seconds{}') >= 0.05)
  await server.post('/v1/logs/a?ack=synced', '2')
  const { samples: after } = await scrape(server)
  t.deepEqual([after.get('millrace_unwritten_batches{}'), after.get('millrace_unsynced_age_seconds{}')], [0, 0])
})

tape('metrics: who may read them', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const secrets = []
  for (const scope of ['read:*', 'read:a', 'write:*']) secrets.push((await createKey(file, { scopes: [scope] })).secret)
  const { ask } = await serve(t, { folder })
  const statuses = []
  for (const secret of [...secrets, 'mr_x']) {
    statuses.push((await ask('/metrics', { headers: { authorization: `Bearer ${secret}` } })).status)
  }
  t.deepEqual(statuses, [200, 403, 403, 401])
})

tape('health: not ready while the disk fails, but alive', async (t) => {
  const faults = {}
  const storage = faultyStorage(fileStorage, ({ name }) => {
    return faults[name] && { error: Object.assign(new Error('as if'), { code: faults[name], syscall: name }) }
  })
  const { ask } = await serve(t, { log: { storage } })
  const isReady = async () => {
    const { status, body } = await ask('/readyz')
    return [status, /\((\w+)\)/.exec(body.detail)?.[1]]
  }
  const clock = stopClock(t)
  t.deepEqual(await isReady(), [200, undefined])
  faults.write = 'ENOSPC'
  t.deepEqual(await isReady(), [200, undefined], 'a probe counts for a second')
  clock.pass(1000)
  t.deepEqual(await isReady(), [503, 'ENOSPC'])
  t.equal((await ask('/healthz')).status, 200)
  delete faults.write
  faults.sync = 'EIO'
  clock.pass(1000)
  t.deepEqual(await isReady(), [503, 'EIO'])
  delete faults.sync
  clock.pass(1000)
  t.deepEqual(await isReady(), [200, undefined], 'and ready again')
})
