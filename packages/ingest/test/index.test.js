'use strict'
// Reads of logs that have an index: the same answers, in fewer pieces.

const tape = require('tape')
const { createIndex } = require('@millrace/index')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, newPath, temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('..')
const { parseQuery, readLines } = require('../lib/reading')
const { recordCodec } = require('../lib/record')
const { Scans } = require('../lib/scans')
const { encodeRecords, serve } = require('./helpers')

const COUNT = 20_000
const random = createRandom(5)

async function readAll (log, given, budget = {}) {
  const scans = new Scans(10)
  let pieces = 0
  const run = scans.run.bind(scans)
  scans.run = (...args) => { pieces++; return run(...args) }
  const limits = { scanSize: Infinity, scanMs: 60_000, ...budget }
  let text = ''
  const { signal: gone } = new AbortController()
  const { signal: ending } = new AbortController()
  const entry = { log, periods: new Map() }
  for await (const chunk of readLines(entry, parseQuery(given), limits, scans, { gone, ending })) text += chunk
  return { lines: text.trimEnd().split('\n').map((line) => JSON.parse(line)), pieces }
}

async function makeLog (paths) {
  const log = OffsetLog(newPath('records.log'), { codec: recordCodec, ...(paths && { index: createIndex(paths) }) })
  const values = Array.from({ length: COUNT }, (_, n) => JSON.stringify({ n, user: `u${n % 2000}`, text: 'x'.repeat(n * 31 % 300) }))
  for (let at = 0; at < COUNT; at += 1000) await log.append(encodeRecords(1.79e12, values.slice(at, at + 1000)))
  return log
}

tape('index: where answers as without one, forward, reversed, in a range and with a limit, in fewer pieces', async (t) => {
  const [plain, log] = [await makeLog(), await makeLog(['value.user', { path: 'value.n', range: true }])]
  await log.index.ready()
  const filters = [{ path: 'user', equals: 'u7' }, { path: 'n', gte: 100, lt: 140 }, { path: 'user', in: ['u1', 'none'] },
    { path: 'text', equals: '' }]
  for (const filter of filters) {
    const where = JSON.stringify(filter)
    const bound = random(4e6)
    const queries = [{}, { limit: 3 }, { lt: bound }].flatMap((given) => [given, { ...given, reverse: true }])
    for (const given of queries) {
      const [expected, found] = [await readAll(plain, { where, ...given }), await readAll(log, { where, ...given })]
      t.deepEqual(found.lines.slice(0, -1), expected.lines.slice(0, -1), `${where} ${JSON.stringify(given)}`)
      t.equal(found.lines.at(-1).end.reason, expected.lines.at(-1).end.reason)
      if (filter.path === 'text' || given.limit !== undefined || bound < 1e6) continue
      t.ok(found.pieces < expected.pieces, `${found.pieces} of ${expected.pieces} pieces`)
    }
  }
  await Promise.all([plain.close(), log.close()])
})

tape('index: a search that ends in its budget without one ends at the end with it', async (t) => {
  const [plain, log] = [await makeLog(), await makeLog(['value.user'])]
  await log.index.ready()
  const where = '{"path":"user","equals":"u7"}'
  for (const reverse of [false, true]) {
    const scanSize = 512 * 1024
    t.equal((await readAll(plain, { where, reverse }, { scanSize })).lines.at(-1).end.reason, 'budget')
    const { lines } = await readAll(log, { where, reverse }, { scanSize })
    t.equal(lines.at(-1).end.reason, 'end')
    t.equal(lines.length, 1 + COUNT / 2000)
  }
  await Promise.all([plain.close(), log.close()])
})

tape('explain: says how the log would find the records, and reads none', async (t) => {
  const log = await makeLog(['value.user'])
  await log.index.ready()
  const ask = async (given) => {
    const { lines: [line, ...others], pieces } = await readAll(log, { explain: true, ...given })
    t.deepEqual([others, pieces], [[], 0])
    return line.explain
  }
  const { uses, candidates, scanned } = await ask({ where: '{"path":"user","equals":"u7"}' })
  t.deepEqual({ uses, candidates, scanned }, { uses: ['value.user'], candidates: 10, scanned: null })
  t.match((await ask({ where: '{"path":"n","equals":7}' })).why, /it asks for value.n; declared are value.user/)
  t.equal((await ask({})).why, 'there is no filter')
  await log.close()
  const { post, read, ask: request } = await serve(t)
  await post('/v1/logs/a', '[1,2]')
  const { text, status } = await request('/v1/logs/a?explain=true&where={"path":[],"equals":1}')
  t.equal(status, 200)
  t.deepEqual(JSON.parse(text).explain.uses, [])
  t.equal((await read('/v1/logs/a?explain=yes')).status, 400)
  const live = await request('/v1/logs/a?explain=true', { headers: { accept: 'text/event-stream' } })
  t.equal(live.status, 400)
})

tape('index: of a server, with segments, after a restart, and for OpenTelemetry', async (t) => {
  const folder = temporaryFolder()
  const index = { a: ['user.id', { path: 'n', range: true }, ['k\ufffd']], otlp: true }
  const log = { segmentSize: 64 * 1024 }
  const first = await serve(t, { folder, index, log })
  for (let at = 0; at < 4000; at += 1000) {
    const values = Array.from({ length: 1000 }, (_, n) => ({ n: at + n, user: { id: `u${n % 500}` }, 'k\ufffd': n % 500, text: 'x'.repeat(50) }))
    await first.post('/v1/logs/a', JSON.stringify(values))
  }
  const logRecords = Array.from({ length: 300 }, (_, n) => ({ severityNumber: n === 7 ? 17 : 9, traceId: String(n).padStart(32, 'a') }))
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] }
  await first.post('/v1/logs', JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }))
  const check = async ({ read, ask }, name) => {
    for (const [log, filter, count, used] of [
      ['a', { path: 'user.id', equals: 'u7' }, 8, 'value.user.id'],
      ['a', { path: 'n', gte: 100, lt: 110 }, 10, 'value.n'],
      ['a', { path: ['k\ufffd'], equals: 7 }, 8, 'value.k\ufffd'],
      ['otlp', { path: 'severityNumber', gte: 17 }, 1, 'value.severityNumber'],
      ['otlp', { path: 'traceId', equals: '7'.padStart(32, 'a') }, 1, 'value.traceId'],
      ['otlp', { path: ['resource', 'attributes', 'service.name'], equals: 'none' }, 0, 'value.resource.attributes']
    ]) {
      const query = `/v1/logs/${log}?where=${encodeURIComponent(JSON.stringify(filter))}`
      t.equal((await read(query)).records.length, count, `${name}: ${JSON.stringify(filter)}`)
      t.equal((await read(`${query}&reverse=true`)).records.length, count)
      const { uses } = JSON.parse((await ask(`${query}&explain=true`)).text).explain
      t.ok(uses.length === 1, `${used}: ${uses}`)
    }
  }
  await check(first, 'at once')
  await first.server.close()
  await check(await serve(t, { folder, index: ['a:user.id', 'a:n', 'a:k\ufffd', 'otlp'], log }).then(async (server) => {
    // Of other fields it is made again; with --index there are no ranges.
    await server.server.close()
    return serve(t, { folder, index, log })
  }), 'after a restart')
})

tape('index: flags name each element of an array as paths do elsewhere', async (t) => {
  const { post, ask: request } = await serve(t, { index: ['a:tags[*]', 'a:links[*].to', 'a:user', 'b:[*]'] })
  await post('/v1/logs/a', JSON.stringify({ tags: ['red', 'blue'], links: [{ to: 'ada' }], user: 'bob' }))
  await post('/v1/logs/b', JSON.stringify([['red', 'blue']]))
  for (const [log, filter] of [
    ['a', { path: 'tags', includes: 'blue' }], ['a', { path: 'links', includes: { path: 'to', equals: 'ada' } }],
    ['a', { path: 'user', equals: 'bob' }], ['b', { path: [], includes: 'red' }]
  ]) {
    const query = `/v1/logs/${log}?explain=true&where=${encodeURIComponent(JSON.stringify(filter))}`
    t.equal(JSON.parse((await request(query)).text).explain.uses.length, 1, JSON.stringify(filter))
  }
})

tape('index: what is no log or no field is refused', (t) => {
  for (const [index, message] of [
    ['orders', /index must be an object/], [['a:'], /expected LOG:FIELD/], [{ a: 'user' }, /expected a list of fields for a, or true/],
    [{ a: [''] }, /createIndex/], [{ a: [] }, /expected a list of paths/], [{ a: [7] }, /createIndex/]
  ]) t.throws(() => createIngest({ folder: 'x', index }), message)
  t.end()
})
