'use strict'
// OTLP/HTTP logs: both encodings, what is stored, what is answered, and who may send.

const path = require('node:path')
const zlib = require('node:zlib')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { readResponse, readStatus } = require('@millrace/otlp')
const { failureOf, faultyStorage, temporaryFolder } = require('@millrace/testkit')
const { decode, encode, messages, toJson } = require('../../otlp/test/oracle')
const { createKey } = require('..')
const { rawRequest, serve } = require('./helpers')

const TYPES = { protobuf: 'application/x-protobuf', json: 'application/json' }
const ENCODINGS = /** @type {const} */ (['protobuf', 'json'])

const requestOf = (logRecords) => ({
  resourceLogs: [{
    resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
    scopeLogs: [{ scope: { name: 'orders', version: '1.2' }, logRecords }]
  }]
})
const textOf = (stringValue) => ({ body: { stringValue } })
const bytesOf = (encoding, request) => encoding === 'json' ? toJson(request) : encode(request)

const FULL = {
  timeUnixNano: '1790000000000000123',
  observedTimeUnixNano: '1790000000500000000',
  severityNumber: 17,
  severityText: 'ERROR',
  eventName: 'payment.failed',
  body: { kvlistValue: { values: [{ key: 'order', value: { intValue: '9007199254740993' } }, { key: 'raw', value: { bytesValue: Buffer.from([255]) } }] } },
  attributes: [
    { key: 'http.route', value: { stringValue: '/pay' } },
    { key: 'tries', value: { arrayValue: { values: [{ intValue: '1' }, { doubleValue: 2.5 }, {}] } } },
    { key: 'twice', value: { intValue: '1' } },
    { key: 'twice', value: { intValue: '2' } }
  ],
  droppedAttributesCount: 3,
  traceId: Buffer.alloc(16, 0xab),
  spanId: Buffer.alloc(8, 0xcd),
  flags: 1
}

async function serveOtlp (t, options) {
  const served = await serve(t, options)
  const send = async (encoding, body, { headers = {}, query = '' } = {}) => {
    const type = { 'content-type': TYPES[encoding] ?? encoding }
    const response = await fetch(`${served.url}/v1/logs${query}`, { method: 'POST', body, headers: { ...type, ...headers } })
    const bytes = Buffer.from(await response.arrayBuffer())
    return {
      status: response.status,
      headers: response.headers,
      bytes,
      message: () => readStatus(encoding, bytes),
      response: () => readResponse(encoding, bytes)
    }
  }
  return { ...served, send }
}

tape('otlp: both encodings, plain and gzip, store the same record with its resource and scope', async (t) => {
  const { send, read } = await serveOtlp(t)
  for (const encoding of ENCODINGS) {
    const bytes = bytesOf(encoding, requestOf([FULL]))
    for (const [body, headers] of [[bytes, {}], [zlib.gzipSync(bytes), { 'content-encoding': 'gzip' }]]) {
      const answer = await send(encoding, body, { headers })
      t.deepEqual([answer.status, answer.headers.get('content-type'), String(answer.bytes)], [200, TYPES[encoding], encoding === 'json' ? '{}' : ''])
    }
  }
  const { records } = await read('/v1/logs/otlp')
  t.equal(records.length, 4)
  for (const { value } of records) {
    t.deepEqual(value, {
      time: '2026-09-21T14:13:20.000000123Z',
      observedTime: '2026-09-21T14:13:20.500000000Z',
      severityNumber: 17,
      severityText: 'ERROR',
      eventName: 'payment.failed',
      body: { order: '9007199254740993', raw: '/w==' },
      attributes: { 'http.route': '/pay', tries: [1, 2.5, null], twice: 2 },
      droppedAttributesCount: 3,
      traceId: 'ab'.repeat(16),
      spanId: 'cd'.repeat(8),
      flags: 1,
      resource: { attributes: { 'service.name': 'shop' } },
      scope: { name: 'orders', version: '1.2' }
    })
  }
})

tape('otlp: where finds attributes, resources and times', async (t) => {
  const { send, read } = await serveOtlp(t)
  await send('protobuf', encode(requestOf([FULL, { ...textOf('late'), timeUnixNano: '1800000000000000000', severityNumber: 9 }, {}])))
  const count = async (where) => (await read(`/v1/logs/otlp?where=${encodeURIComponent(JSON.stringify(where))}`)).records.length
  t.equal(await count({ path: ['resource', 'attributes', 'service.name'], equals: 'shop' }), 3)
  t.equal(await count({ path: ['attributes', 'http.route'], prefix: '/p' }), 1)
  t.equal(await count({ path: 'severityNumber', gte: 17 }), 1)
  t.equal(await count({ path: 'time', gte: '2027' }), 1)
  t.equal(await count({ path: 'time', lt: '2026-09-21T14:13:20.0000002' }), 1)
  t.equal(await count({ path: 'body', equals: 'late' }), 1)
  t.equal(await count({ path: 'body.order', exists: true }), 1)
  t.equal((await read(`/v1/logs/otlp?since=${Date.now() - 60_000}&until=${Date.now() + 60_000}`)).records.length, 3, 'by receipt')
})

tape('otlp: empty requests succeed and store nothing', async (t) => {
  const { send, ask } = await serveOtlp(t)
  t.equal((await send('protobuf', '')).status, 200)
  t.equal((await send('json', '{}')).status, 200)
  t.equal((await send('json', '{"resourceLogs":[{"scopeLogs":[{}]}]}')).status, 200)
  t.equal((await send('json', '')).status, 400, 'no bytes are no JSON')
  t.deepEqual((await ask('/v1/logs')).body.logs, [])
})

tape('otlp: bad bodies are 400 for good, with a status in the encoding of the request', async (t) => {
  const { send, read } = await serveOtlp(t)
  const good = encode(requestOf([FULL]))
  const cases = [['protobuf', good.subarray(0, good.length - 3)], ['protobuf', '{}'], ['json', good], ['json', '{"resourceLogs":5}'], ['json', toJson(requestOf([{ severityNumber: 'INFO' }]))]]
  for (const [encoding, body] of cases) {
    const { status, headers, message } = await send(encoding, body)
    t.deepEqual([status, headers.get('content-type'), headers.get('retry-after')], [400, TYPES[encoding], null], encoding)
    t.match(message(), new RegExp(`no ${encoding === 'json' ? 'JSON' : 'protobuf'} of OTLP logs: .*nothing was stored`), message())
  }
  const Status = messages.lookupType('Status')
  t.equal(Status.decode((await send('protobuf', '{}')).bytes).code, 3, 'INVALID_ARGUMENT')
  t.equal((await send('protobuf', zlib.gzipSync(good).subarray(0, 20), { headers: { 'content-encoding': 'gzip' } })).status, 400)
  t.equal((await read('/v1/logs/otlp')).status, 404, 'nothing was stored')
})

tape('otlp: traces and metrics in JSON, and records without a name of a log, are refused: they got 200, and nothing was stored', async (t) => {
  const { send, ask } = await serveOtlp(t)
  const bodies = ['{"resourceSpans":[{"scopeSpans":[]}]}', '{"resourceMetrics":[]}', '{"resource_logs":[]}', '{"streams":[]}', '{"user":"ada"}', '[{"user":"ada"}]']
  for (const body of bodies) {
    const { status, message } = await send('json', body)
    t.equal(status, 400, body)
    t.match(message(), /nothing was stored\. Only logs are taken; what is not from OpenTelemetry goes to \/v1\/logs\/NAME/)
  }
  t.deepEqual((await ask('/v1/logs')).body.logs, [])
})

tape('otlp: other types are 415, and so is protobuf elsewhere', async (t) => {
  const { send, post } = await serveOtlp(t)
  for (const type of ['text/plain', 'application/x-ndjson', 'application/grpc']) {
    const { status, headers, bytes } = await send(type, '{}')
    t.deepEqual([status, headers.get('content-type')], [415, 'application/json'], type)
    t.equal(readStatus('json', bytes), 'send application/x-protobuf or application/json; what is not from OpenTelemetry goes to /v1/logs/NAME', type)
  }
  t.equal((await send('json', '{}', { headers: { 'content-encoding': 'br' } })).status, 415)
  t.equal((await post('/v1/logs/a', '', { 'content-type': TYPES.protobuf })).status, 415)
})

tape('otlp: a record that is too large is rejected alone: a partial success', async (t) => {
  const { send, read } = await serveOtlp(t, { limits: { recordSize: 1000 } })
  for (const encoding of ENCODINGS) {
    const answer = await send(encoding, bytesOf(encoding, requestOf([textOf('first'), textOf('x'.repeat(1000)), textOf('last')])))
    t.equal(answer.status, 200)
    const { rejectedCount, message } = answer.response()
    t.equal(rejectedCount, 1)
    t.match(message, /1 of 3 log records have more than 1000 bytes/)
  }
  t.deepEqual((await read('/v1/logs/otlp')).records.map(({ value }) => value.body), ['first', 'last', 'first', 'last'])
})

tape('otlp: limits on bodies and batches', async (t) => {
  const limits = { bodySize: 20_000, inflatedSize: 40_000, batchCount: 10, pendingSize: 50_000 }
  const { send } = await serveOtlp(t, { limits })
  const sendText = (text, headers) => send('protobuf', headers ? zlib.gzipSync(encode(requestOf([textOf(text)]))) : encode(requestOf([textOf(text)])), { headers })
  t.equal((await sendText('x'.repeat(19_000))).status, 200)
  const tooLarge = await sendText('x'.repeat(20_000))
  t.deepEqual([tooLarge.status, tooLarge.headers.get('content-type')], [413, TYPES.protobuf])
  t.ok(tooLarge.message().length > 10)
  const packed = await sendText('x'.repeat(41_000), { 'content-encoding': 'gzip' })
  t.equal(packed.status, 413)
  t.match(packed.message(), /40000 bytes when it is unpacked/)
  t.match((await send('json', toJson(requestOf(Array(11).fill({}))))).message(), /may have 10 log records/)
  const large = { resourceLogs: [{ resource: { attributes: [{ key: 'a', value: { stringValue: 'x'.repeat(10_000) } }] }, scopeLogs: [{ logRecords: Array(10).fill({}) }] }] }
  const grown = await send('protobuf', encode(large))
  t.equal(grown.status, 413, 'a large resource that all records get')
  t.match(grown.message(), /each with its resource and scope/)
})

tape('otlp: acknowledgements', async (t) => {
  const { send } = await serveOtlp(t, { floor: 'written' })
  const applied = async (options) => {
    const { status, headers } = await send('json', toJson(requestOf([FULL])), options)
    return [status, headers.get('preference-applied')]
  }
  t.deepEqual(await applied({ headers: { prefer: 'ack=synced' } }), [200, 'ack=synced'])
  t.deepEqual(await applied({ headers: { prefer: 'ack=buffered' } }), [200, null], 'the floor')
  t.deepEqual(await applied({ query: '?ack=synced' }), [200, null])
  t.equal((await send('json', '{}', { query: '?ack=maybe' })).status, 400)
})

tape('otlp: a disk that fails is 503 with Retry-After', async (t) => {
  const faults = {}
  const storage = faultyStorage(fileStorage, ({ name }) => faults[name] && { error: Object.assign(new Error('as if'), { code: 'ENOSPC', syscall: 'write' }) })
  const { send, read } = await serveOtlp(t, { log: { storage, fsync: 'never' } })
  await send('protobuf', encode(requestOf([textOf('first')])))
  faults.write = true
  for (const encoding of ENCODINGS) {
    const { status, headers, message } = await send(encoding, bytesOf(encoding, requestOf([textOf('refused')])))
    t.deepEqual([status, headers.get('retry-after'), headers.get('content-type')], [503, '1', TYPES[encoding]])
    t.notOk(message().includes('as if'))
  }
  delete faults.write
  t.equal((await send('protobuf', encode(requestOf([textOf('later')])))).status, 200)
  t.deepEqual((await read('/v1/logs/otlp')).records.map(({ value }) => value.body), ['first', 'later'])
})

tape('otlp: keys, scopes, another log for a key, the rate', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const make = async (options) => ({ authorization: `Bearer ${(await createKey(file, options)).secret}` })
  const writer = await make({ scopes: ['write:otlp', 'read:*'] })
  const other = await make({ scopes: ['write:shop-*'], otlpLog: 'shop-1' })
  const reader = await make({ scopes: ['read:*'] })
  for (const otlpLog of ['otlp', 'A/b', 'shop']) {
    const err = await failureOf(() => createKey(file, { scopes: ['write:shop-*'], otlpLog }))
    t.match(err.message, /needs the scope/, otlpLog)
  }
  const { send, read } = await serveOtlp(t, { folder, rate: { count: 3, windowMs: 60_000 } })
  const body = encode(requestOf([textOf('a')]))
  const unknown = await send('protobuf', body)
  t.deepEqual([unknown.status, unknown.headers.get('content-type'), unknown.headers.get('www-authenticate')], [401, TYPES.protobuf, 'Bearer'])
  t.match(unknown.message(), /send an API key/)
  t.equal((await send('json', '{}', { headers: reader })).status, 403)
  t.equal((await send('protobuf', body, { headers: writer })).status, 200)
  t.equal((await send('protobuf', body, { headers: other })).status, 200)
  t.equal((await read('/v1/logs/shop-1', writer)).records.length, 1)
  t.equal((await read('/v1/logs/otlp', writer)).records.length, 1)
  const limited = await send('protobuf', body, { headers: writer })
  t.equal(limited.status, 429)
  t.ok(Number(limited.headers.get('retry-after')) > 0)
  t.match(limited.message(), /more than 3 requests/)
})

tape('otlp: pages of other sites are refused', async (t) => {
  const { url } = await serveOtlp(t)
  const { host } = new URL(url)
  const post = async (headers) => (await rawRequest(url, { path: '/v1/logs', method: 'POST', body: '{}', headers: { 'content-type': 'application/json', host, ...headers } })).status
  t.equal(await post({}), 200)
  t.equal(await post({ origin: 'http://evil.example' }), 403)
  t.equal(await post({ host: 'evil.example' }), 403)
  t.equal(await post({ 'sec-fetch-site': 'cross-site' }), 403)
  t.equal((await rawRequest(url, { path: '/v1/logs', method: 'PUT', headers: { host } })).headers.allow, 'POST, GET, HEAD')
})

tape('otlp: what is stored is what was sent, through the oracle', async (t) => {
  const { send, read } = await serveOtlp(t)
  const request = requestOf(Array.from({ length: 1000 }, (_, n) => textOf(`line ${n}`)))
  t.equal(decode(encode(request)).resourceLogs[0].scopeLogs[0].logRecords.length, 1000)
  await send('protobuf', encode(request))
  t.deepEqual((await read('/v1/logs/otlp')).records.map(({ value }) => value.body), Array.from({ length: 1000 }, (_, n) => `line ${n}`))
})
