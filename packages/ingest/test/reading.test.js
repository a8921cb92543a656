'use strict'
// Reading: bounds, limits, times, filters, budgets, live streams, and seqs that are gone.

const http = require('node:http')
const tape = require('tape')
const { until } = require('@millrace/testkit')
const { parseWhere, matches } = require('@millrace/where')
const { serve } = require('./helpers')

/** Reads server-sent events until there are so many. `state.isPlaced`: it misses nothing any more. */
function listen (url, { count, last, query = '' }) {
  const state = { isPlaced: false }
  const events = new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': String(last) }) }
    const request = http.get(`${url}${query}`, { headers, agent: false }, (response) => {
      let text = ''
      const finish = () => resolve({ status: response.statusCode, events: parse(text), text })
      response.on('data', (data) => {
        text += data
        state.isPlaced ||= /^event: (cursor|gone)\n/m.test(text)
        if (response.statusCode === 200 && parse(text).length >= count) request.destroy()
      })
      response.on('close', finish)
    })
    request.on('error', reject)
  })
  return Object.assign(events, { state })
  function parse (text) {
    return [...text.matchAll(/^id: (\d+)-[0-9a-f]{8}\ndata: (.*)\n\n/gm)].map(([, id, data]) => ({ id: Number(id), ...JSON.parse(data) }))
  }
}

tape('reading: bounds, limit, reverse and times', async (t) => {
  const { post, read } = await serve(t)
  await post('/v1/logs/a', JSON.stringify([0, 1, 2, 3, 4, 5].map((n) => ({ n }))))
  const all = (await read('/v1/logs/a')).records
  const seqs = all.map(({ seq }) => seq)
  const ns = async (query) => (await read(`/v1/logs/a?${query}`)).records.map(({ value }) => value.n)
  t.deepEqual(await ns(`gt=${seqs[1]}&lt=${seqs[4]}`), [2, 3])
  t.deepEqual(await ns(`gte=${seqs[1]}&lte=${seqs[4]}&limit=2`), [1, 2])
  t.deepEqual(await ns('reverse=true&limit=2'), [5, 4])
  t.deepEqual(await ns('gt=-1&limit=1'), [0])
  t.deepEqual(await ns(`gt=${seqs[5]}`), [])
  t.deepEqual(await ns(`since=${all[0].time}&until=${all[0].time}`), [0, 1, 2, 3, 4, 5])
  t.deepEqual(await ns('until=2001-01-01'), [])
  t.deepEqual(await ns(`since=${all[0].time + 1}`), [])
  const wrong = ['gt=x', 'limit=0', 'limit=1.5', 'reverse=1', 'since=never', 'where=x', 'where={"path":"n","near":1}',
    'gt=99999999999999999']
  for (const query of wrong) {
    t.equal((await read(`/v1/logs/a?${query}`)).status, 400, query)
  }
})

tape('reading: following `next` visits every record once, both ways', async (t) => {
  const { post, read } = await serve(t, { limits: { scanSize: 20_000 } })
  const pad = 'x'.repeat(200)
  const batchOf = (from) => JSON.stringify(Array.from({ length: 50 }, (_, n) => ({ n: from + n, pad })))
  for (let i = 0; i < 10; i++) await post('/v1/logs/a', batchOf(i * 50))
  for (const [start, order] of [['limit=70', 1], ['limit=70&reverse=true', -1]]) {
    const found = []
    let query = start
    for (let rounds = 0; rounds < 100; rounds++) {
      const { records, end } = await read(`/v1/logs/a?${query}`)
      found.push(...records.map(({ value }) => value.n))
      if (end.reason === 'end') break
      query = `${start}&${new URLSearchParams(end.next)}`
    }
    const expected = Array.from({ length: 500 }, (_, n) => n)
    t.deepEqual(found, order === 1 ? expected : expected.reverse())
  }
})

tape('reading: the whole of where, on the values', async (t) => {
  const { post, read } = await serve(t)
  const values = [
    { level: 'warn', tags: [{ id: 1 }, 'x'], n: 5 }, { level: 'info', n: 10 }, 'warn', [1, { level: 'warn' }],
    { value: { level: 'warn' } }, { time: 1 }, null
  ]
  await post('/v1/logs/a', JSON.stringify(values))
  const filters = [
    { path: 'level', equals: 'warn' }, [{ path: 'level', in: ['warn', 'info'] }, { path: 'n', gte: 5, lt: 10 }],
    { any: [{ path: [], equals: 'warn' }, { not: { path: 'level', exists: true } }] },
    { path: 'tags', includes: { path: 'id', equals: 1 } }, { path: 'tags', includes: 'x' }, { path: 'level', prefix: 'in' },
    { all: [{ path: '1.level', equals: 'warn' }] }, { path: 'value.level', exists: true }, { path: 'time', equals: 1 }, []
  ]
  for (const where of filters) {
    const { records } = await read(`/v1/logs/a?where=${encodeURIComponent(JSON.stringify(where))}`)
    const expected = values.filter((value) => matches(parseWhere(where), value))
    t.deepEqual(records.map(({ value }) => value), expected, JSON.stringify(where))
  }
})

tape('reading: a scan that finds nothing stops after its budget and says where to go on', async (t) => {
  const { post, read } = await serve(t, { limits: { scanMs: 0 } })
  const big = JSON.stringify(Array.from({ length: 10 }, () => 'x'.repeat(700_000)))
  await post('/v1/logs/a', big)
  await post('/v1/logs/a', '"found"')
  const where = encodeURIComponent(JSON.stringify({ path: [], equals: 'found' }))
  const first = await read(`/v1/logs/a?where=${where}`)
  t.deepEqual([first.records, first.end.reason], [[], 'budget'])
  let last = first
  for (let count = 0; last.end.reason === 'budget' && last.records.length === 0 && count < 20; count++) {
    last = await read(`/v1/logs/a?where=${where}&${new URLSearchParams(last.end.next)}`)
  }
  t.equal(last.records.length, 1)
})

tape('live: events as they come, resumed without a gap or a double', async (t) => {
  const { post, url, read } = await serve(t)
  await post('/v1/logs/a', '{"n":0}')
  const to = `${url}/v1/logs/a`
  const coming = listen(to, { count: 2 })
  await until(() => coming.state.isPlaced)
  await post('/v1/logs/a', '{"n":1}')
  await post('/v1/logs/a', '{"n":2}')
  const { events } = await coming
  t.deepEqual(events.map(({ value }) => value.n), [1, 2], 'only what comes')
  t.equal(events[1].id, events[1].seq)
  const stop = new AbortController()
  const writing = (async () => {
    for (let n = 3; !stop.signal.aborted; n++) await post('/v1/logs/a', `{"n":${n}}`)
  })()
  const seen = []
  let last = events[1].id
  for (let i = 0; i < 8; i++) {
    const { events } = await listen(to, { count: 1 + i * 3, last })
    seen.push(...events.map(({ value }) => value.n))
    last = events.at(-1).id
  }
  stop.abort()
  await writing
  t.deepEqual(seen, seen.map((_, index) => index + 3), `${seen.length} events`)
  const everything = await listen(to, { count: 3, query: '?gt=-1' })
  t.deepEqual(everything.events.slice(0, 3).map(({ value }) => value.n), [0, 1, 2])
  const some = await listen(to, { count: 1, query: `?gt=-1&where=${encodeURIComponent('{"path":"n","equals":2}')}` })
  t.deepEqual(some.events.map(({ value }) => value.n), [2])
  t.equal((await read('/v1/logs/a?limit=1')).records.length, 1)
})

tape('gone: nothing is, for a reader that names no first seq, while the oldest segments are dropped', async (t) => {
  // On a busy machine a read may be overtaken for more than 5 s.
  const { post, read } = await serve(t, { log: { segmentSize: 10_000, maxCount: 2 }, limits: { scanMs: 600_000 } })
  await post('/v1/logs/a', '"old"')
  const written = new AbortController()
  const writing = (async () => {
    for (let n = 0; n < 400; n++) await post('/v1/logs/a', JSON.stringify('x'.repeat(2000)))
    written.abort()
  })()
  const statuses = new Set()
  const readOn = async (query) => {
    while (!written.signal.aborted) {
      const { status, records, end } = await read(`/v1/logs/a?${query}`)
      statuses.add(`${status} ${records?.length > 0} ${end?.reason}`)
    }
  }
  await Promise.all([writing, readOn('limit=1'), readOn('limit=1'), readOn('limit=2&reverse=true'), readOn('reverse=true')])
  t.deepEqual([...statuses].sort(), ['200 true end', '200 true limit'])
})

tape('gone: a seq that was retained away or is unknown is 410, and names the first one left', async (t) => {
  const { post, read, url } = await serve(t, { log: { segmentSize: 10_000, maxCount: 2 } })
  const first = (await post('/v1/logs/a', '"old"')).body.last
  let left = { seq: first }
  while (left.seq === first) {
    await post('/v1/logs/a', JSON.stringify('x'.repeat(2000)))
    await new Promise((resolve) => setTimeout(resolve, 20))
    const { records } = await read('/v1/logs/a?limit=1')
    left = records[0]
  }
  t.ok(left.seq > first)
  const { status, body } = await read(`/v1/logs/a?gt=${first}`)
  t.deepEqual([status, body.code], [410, 'gone'])
  t.ok(body.first >= left.seq, 'the first one that is left')
  const live = await listen(`${url}/v1/logs/a`, { count: 1, last: first })
  t.match(live.text, new RegExp(`event: gone\\nid: ${first}\\ndata:\\n\\n`))
  t.ok(live.events[0].id >= left.seq, 'a live reader goes on there')
})

tape('live: closing the server ends the streams', async (t) => {
  const { post, url, server } = await serve(t)
  await post('/v1/logs/a', '1')
  const live = listen(`${url}/v1/logs/a`, { count: 5 })
  await until(() => live.state.isPlaced)
  await server.close()
  t.deepEqual((await live).events, [])
})
