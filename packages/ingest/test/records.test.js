'use strict'
// Records over HTTP: bodies, acknowledgements, positions of bad lines, names, many logs.

const fs = require('node:fs')
const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { SegmentedLog } = require('@millrace/segmented-log')
const { until } = require('@millrace/testkit')
const { serve } = require('./helpers')

const LINES = { 'content-type': 'application/x-ndjson' }

tape('records: one value, an array, lines, and gzip of them are stored as they came', async (t) => {
  const { post, read } = await serve(t)
  t.deepEqual((await post('/v1/logs/a', '{"n":1.0,\r\n "big":12345678901234567890,"n":2}')).body.count, 1)
  t.equal((await post('/v1/logs/a', '[1.50, [2], "a,]\\"b"]')).body.count, 3)
  t.equal((await post('/v1/logs/a', '{"l":1}\r\n\n{"l":2}', LINES)).body.count, 2)
  const gzip = await post('/v1/logs/a', zlib.gzipSync('"packed"'), { 'content-encoding': 'gzip' })
  t.equal(gzip.body.count, 1)
  const { records, end } = await read('/v1/logs/a')
  t.deepEqual(records.map(({ value }) => value), [{ n: 2, big: 12345678901234567000 }, 1.5, [2], 'a,]"b', { l: 1 }, { l: 2 }, 'packed'])
  t.equal(records.at(-1).seq, gzip.body.last, 'the answer has the seq of the last record')
  t.equal(end.reason, 'end')
})

tape('records: with log.framing lines, new logs are plain files of JSON lines, and others are read as before', async (t) => {
  const before = await serve(t)
  await before.post('/v1/logs/checked', '1')
  await before.server.close()
  const { post, read, folder } = await serve(t, { folder: before.folder, log: { framing: 'lines' } })
  await post('/v1/logs/checked', '2')
  t.deepEqual((await read('/v1/logs/checked')).records.map(({ value }) => value), [1, 2])
  await post('/v1/logs/a', '[{"n":1},\r\n{"n":\n2}]')
  const { records } = await read('/v1/logs/a')
  t.deepEqual(records.map(({ value }) => value), [{ n: 1 }, { n: 2 }])
  const [file] = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.jsonl'))
  const lines = fs.readFileSync(path.join(folder, file), 'utf8').trimEnd().split('\n')
  t.deepEqual(lines.map((line) => JSON.parse(line).value), [{ n: 1 }, { n: 2 }])
})

tape('records: bytes are kept: digits, repeated keys, spaces', async (t) => {
  const { post, ask } = await serve(t)
  await post('/v1/logs/a', '{"n":1.0,\n "big":12345678901234567890,"n":2e0}')
  const { text } = await ask('/v1/logs/a')
  t.ok(text.includes('"value":{"n":1.0,  "big":12345678901234567890,"n":2e0}}'), text)
})

tape('records: a bad line rejects its batch whole, with its position', async (t) => {
  const { post, read } = await serve(t)
  await post('/v1/logs/a', '"first"')
  const { status, body, headers } = await post('/v1/logs/a', '{"a":1}\n{"ü":2}\n{bad}\n{"b":2}\n', LINES)
  t.equal(status, 400)
  t.match(headers.get('content-type'), /^application\/problem\+json/)
  t.deepEqual([body.line, body.offset, body.code], [3, Buffer.byteLength('{"a":1}\n{"ü":2}\n'), 'bad_record'])
  t.deepEqual((await read('/v1/logs/a')).records.map(({ value }) => value), ['first'])
  const bad = ['', '[]', '{', Buffer.from([0x22, 0xff, 0x22]), `${'['.repeat(1500)}${']'.repeat(1500)}`]
  for (const text of bad) t.equal((await post('/v1/logs/a', text)).status, 400, JSON.stringify(String(text).slice(0, 10)))
})

tape('records: lines that are sent as JSON, as log shippers do, and records on one line, as curl -d makes them, are told what to send', async (t) => {
  const { post, ask } = await serve(t)
  const asJson = await post('/v1/logs/a', '{"a":1}\n{"a":2}\n')
  t.deepEqual([asJson.status, asJson.body.offset], [400, 8])
  t.equal(asJson.body.detail, 'the body is no JSON: "{" is after its value, at byte 8; nothing was stored. For a record a line, send application/x-ndjson')
  const onOneLine = await post('/v1/logs/a', '{"a":1}{"a":2}', LINES)
  t.equal(onOneLine.body.detail, 'line 1 is no JSON: "{" is after its value, at byte 7; nothing was stored. ' +
    'Each record needs a line of its own; curl keeps line breaks with --data-binary')
  t.notOk(/ndjson/.test((await post('/v1/logs/a', '[1]{')).body.detail), 'an array is JSON already')
  t.deepEqual((await ask('/v1/logs')).body.logs, [])
})

tape('records: limits on bodies, records and batches', async (t) => {
  const limits = { bodySize: 2000, inflatedSize: 5000, recordSize: 1000, batchCount: 10 }
  const { post, ask } = await serve(t, { limits })
  const status = async (body, headers) => (await post('/v1/logs/a', body, headers)).status
  t.equal(await status(JSON.stringify('x'.repeat(990))), 200)
  t.equal(await status(JSON.stringify('x'.repeat(1000))), 413, 'a record')
  t.equal(await status(JSON.stringify('\u20ac'.repeat(334))), 413, 'in bytes')
  t.equal(await status(JSON.stringify(Array(10).fill(1))), 200)
  t.equal(await status(JSON.stringify(Array(11).fill(1))), 413, 'a batch')
  t.equal(await status('1\n'.repeat(11), LINES), 413, 'of lines')
  t.equal(await status(' '.repeat(2001)), 413, 'a body')
  t.equal(await status(zlib.gzipSync(' '.repeat(5001)), { 'content-encoding': 'gzip' }), 413, 'unpacked')
  t.equal(await status(zlib.gzipSync('1').subarray(0, 10), { 'content-encoding': 'gzip' }), 400, 'half a gzip')
  t.equal(await status('no gzip', { 'content-encoding': 'gzip' }), 400)
  t.equal(await status('1', { 'content-encoding': 'br' }), 415)
  t.equal(await status('1', { 'content-type': 'text/plain' }), 415)
  t.equal((await ask('/v1/logs/a', { method: 'POST' })).status, 400, 'no body')
})

tape('acknowledgements: the client asks, the server has a floor', async (t) => {
  const { post, read } = await serve(t, { floor: 'written', ack: 'written' })
  const asked = async (url, headers) => {
    const { status, body, headers: given } = await post(url, '1', headers)
    return [status, body.ack, given.get('preference-applied')]
  }
  t.deepEqual(await asked('/v1/logs/a'), [200, 'written', null])
  t.deepEqual(await asked('/v1/logs/a', { prefer: 'respond-async, ack=synced' }), [200, 'synced', 'ack=synced'])
  t.deepEqual(await asked('/v1/logs/a?ack=synced'), [200, 'synced', null])
  t.deepEqual(await asked('/v1/logs/a', { prefer: 'ack=buffered' }), [200, 'written', null], 'the floor')
  t.deepEqual(await asked('/v1/logs/a', { prefer: 'whatever=1' }), [200, 'written', null], 'unknown preferences are ignored')
  t.deepEqual(await asked('/v1/logs/a', { prefer: 'ack=whatever' }), [400, undefined, null], 'an ack that is not known must not be a weaker one')
  t.equal((await post('/v1/logs/a?ack=whatever', '1')).status, 400)
  t.equal((await read('/v1/logs/a')).records.length, 5)
})

tape('acknowledgements: synced is on stable storage, buffered is written within its interval', async (t) => {
  const { post, read, folder } = await serve(t, { bufferMs: 20, log: { fsync: 'never' } })
  const { body } = await post('/v1/logs/a?ack=synced', '1')
  const reader = SegmentedLog(path.join(folder, 'log-a'), { flags: 'r' })
  await reader.ready()
  t.ok(reader.durable.value >= body.last)
  await reader.close()
  const { status, body: buffered } = await post('/v1/logs/a?ack=buffered', '2')
  t.deepEqual([status, buffered], [202, { ack: 'buffered', count: 1 }])
  await until(async () => (await read('/v1/logs/a')).records.length === 2)
})

tape('names: only letters, digits, - and _ of one folder', async (t) => {
  const { post, folder, ask } = await serve(t)
  for (const name of ['..', '%2e%2e', '..%2fx', 'A', 'a%00', 'a.b', '-a', 'a'.repeat(65), '%c3%bc', 'a%5cb']) {
    const { status } = await post(`/v1/logs/${name}`, '1')
    t.ok(status === 400 || status === 404, `${name}: ${status}`)
  }
  t.equal((await post('/v1/logs/con', '1')).status, 200)
  t.equal((await post(`/v1/logs/${'a'.repeat(64)}`, '1')).status, 200)
  t.deepEqual(fs.readdirSync(folder).sort().filter((name) => name.startsWith('log-')), [`log-${'a'.repeat(64)}`, 'log-con'])
  t.equal((await ask('/v1/logs/none')).status, 404)
  t.notOk(fs.existsSync(path.join(folder, 'log-none')), 'reading makes no log')
})

tape('names: many logs with a bound on those that are open', async (t) => {
  const { post, read, ask } = await serve(t, { openLogs: 5, limits: { logs: 30 } })
  const names = Array.from({ length: 30 }, (_, index) => `n${index}`)
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 30; at += 3) {
      const answers = await Promise.all(names.slice(at, at + 3).map((name) => post(`/v1/logs/${name}`, `"${name}"`)))
      t.ok(answers.every(({ status }) => status === 200))
    }
  }
  for (const name of names.slice(0, 7)) t.deepEqual((await read(`/v1/logs/${name}`)).records.map(({ value }) => value), [name, name])
  t.equal((await ask('/v1/logs')).body.logs.length, 30)
  t.equal((await post('/v1/logs/more', '1')).status, 403, 'no more logs')
})
