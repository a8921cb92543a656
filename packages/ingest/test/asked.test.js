'use strict'
// What a client asks, in a URL or a header, is done or refused: it is never ignored, and never done by half.

const tape = require('tape')
const { until } = require('@millrace/testkit')
const { rawRequest, serve } = require('./helpers')

const JSON_TYPE = { 'content-type': 'application/json' }
const UNKNOWN = [400, 'unknown_parameter']
const QUERY = [400, 'bad_query']
const HEADER = [400, 'bad_header']
const TYPE = [415, undefined]

/** Queries of reads and what is answered: a status and a code, or how many of three records. */
const READS = {
  'limt=1': UNKNOWN, 'Limit=1': UNKNOWN, 'limit%5B%5D=1': UNKNOWN, 'limit[0]=1': UNKNOWN, 'limit%20=1': UNKNOWN, '=1': UNKNOWN,
  'limit=1&x': UNKNOWN, '__proto__=1': UNKNOWN, 'constructor=1': UNKNOWN, 'lastEventId=1': UNKNOWN, 'ack=synced': UNKNOWN,
  'limit=1&limit=2': QUERY, 'limit=1&limit=1': QUERY, 'where=[]&where=[]': QUERY, 'since=2026&since=2027': QUERY,
  'limit=1': 1, 'limit=01': 1, 'limit=': QUERY, limit: QUERY, 'limit=1e3': QUERY, 'limit=-1': QUERY, 'limit=%201': QUERY,
  'limit=+1': QUERY, 'limit=1%20': QUERY, 'limit=0x10': QUERY, 'limit=1.0': QUERY, 'limit=1_0': QUERY, 'limit=Infinity': QUERY,
  'limit=null': QUERY, 'limit=true': QUERY, 'limit=%D9%A1': QUERY, 'limit=9007199254740993': QUERY, 'limit=1,2': QUERY,
  'gt=-1': 3, 'gt=-2': QUERY, 'gt=1e3': QUERY, 'gte=%200': QUERY, 'lt=0x10': QUERY, 'lte=': QUERY, 'gt=-1&gte=0': 3,
  'reverse=true': 3, 'reverse=false': 3, 'reverse=1': QUERY, 'reverse=': QUERY, 'reverse=TRUE': QUERY, 'reverse=yes': QUERY,
  'since=': QUERY, 'since=-1': QUERY, 'since=1e3': QUERY, 'since=%202026-01-01': 3, 'until=0x10': QUERY, 'until=soon': QUERY,
  'where=': [400, 'bad_where'], 'where=1': [400, 'bad_where'], 'where=n%3D1': [400, 'bad_where']
}

/** Acknowledgements that are asked for and what is answered: `ack` and `Preference-Applied`, or a status and a code. */
const ACKS = [
  ['', undefined, ['written', null]],
  ['', 'ack=synced', ['synced', 'ack=synced']],
  ['', 'ACK = "Synced"', ['synced', 'ack=synced']],
  ['', 'respond-async, wait=10, ack=synced; x=1', ['synced', 'ack=synced']],
  ['', 'note="a, ack=synkt, b", ack=synced', ['synced', 'ack=synced']],
  ['', 'ack=buffered, ack=synced', ['synced', 'ack=synced']],
  ['', 'return=minimal;ack=synced', ['written', null], 'a parameter of another preference'],
  ['', 'acks=synced', ['written', null], 'another preference'],
  ['', 'x-ack=synced', ['written', null], 'another preference'],
  ['?ack=synced', undefined, ['synced', null]],
  ['?ack=synced', 'ack=buffered', ['synced', null]],
  ['?ack=buffered', 'ack=synced', ['synced', 'ack=synced']],
  ['', 'ack=synkt', HEADER],
  ['', 'ack=', HEADER],
  ['', 'ack', HEADER],
  ['', 'ack=""', HEADER],
  ['', 'ack:synced', HEADER],
  ['', 'ack synced', HEADER],
  ['', 'ack="synced', HEADER],
  ['', "ack='synced'", HEADER],
  ['', 'ack=synced written', HEADER],
  ['', 'ack=synced, ack=synkt', HEADER],
  ['?ack=synced', 'ack=synkt', HEADER],
  ['?ack=synkt', undefined, QUERY],
  ['?ack=', undefined, QUERY],
  ['?ack=SYNCED', undefined, QUERY],
  ['?ack=written&ack=synced', undefined, QUERY],
  ['?ack[]=synced', undefined, UNKNOWN],
  ['?akc=synced', undefined, UNKNOWN]
]

/** Headers of writes that a server cannot keep, or that say something else of the body. */
const WRITES = [
  [{ 'if-match': '"x"' }, [412, 'bad_header']],
  [{ 'if-match': '*' }, [412, 'bad_header']],
  [{ 'if-none-match': '*' }, [412, 'bad_header']],
  [{ 'if-unmodified-since': 'Thu, 01 Jan 2026 00:00:00 GMT' }, [412, 'bad_header']],
  [{ 'content-range': 'bytes 0-9/20' }, HEADER],
  [{ 'idempotency-key': '' }, HEADER],
  [{ 'content-type': 'application/json; charset=utf-16' }, TYPE],
  [{ 'content-type': 'application/json; charset="iso-8859-1"' }, TYPE],
  [{ 'content-type': 'application/json, application/x-ndjson' }, [415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE']],
  [{ 'content-type': 'application/jsn' }, [415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE']],
  [{ 'content-encoding': 'gzp' }, TYPE],
  [{ 'content-encoding': 'br' }, TYPE],
  [{ 'content-encoding': 'gzip, gzip' }, TYPE]
]

/** Headers of reads that may be ignored, since the answer has all that was asked for, and says so. */
const IGNORED = [
  { range: 'bytes=0-9' }, { 'if-range': '"x"', range: 'bytes=0-9' }, { 'if-none-match': '"x"' },
  { 'if-modified-since': 'Thu, 01 Jan 2032 00:00:00 GMT' }, { accept: 'text/csv' }, { 'last-event-id': '32800' },
  { accept: 'text/event-stream;q=0, */*' }, { accept: 'x/text/event-stream' }
]

tape('asked: who sends what curl sends by default is told which type to send', async (t) => {
  const { post } = await serve(t)
  const { status, body } = await post('/v1/logs/a', '{"n":0}', { 'content-type': 'application/x-www-form-urlencoded' })
  t.equal(status, 415)
  t.match(JSON.stringify(body), /send the body with Content-Type: application\/json, or application\/x-ndjson for a record a line/)
})

async function serveThree (t) {
  const client = await serve(t)
  await client.post('/v1/logs/a', '[{"n":0},{"n":1},{"n":2}]')
  return client
}

tape('asked: a parameter that is misspelt, given twice or no plain number is refused', async (t) => {
  const { read } = await serveThree(t)
  for (const [query, expected] of Object.entries(READS)) {
    const { status, body, records } = await read(`/v1/logs/a?${query}`)
    t.deepEqual(Array.isArray(expected) ? [status, body?.code] : records?.length, expected, query)
  }
})

tape('asked: times are spelled as the command takes them', async (t) => {
  const { read, ask } = await serveThree(t)
  const [{ time }] = (await read('/v1/logs/a')).records
  const iso = new Date(time).toISOString()
  const texts = ['10m', '90s', '1.5 h', '2d ago', '1w', iso, iso.slice(0, 10), iso.slice(0, 16).replace('T', ' '), new Date(time - 1000).toUTCString(),
    String(Math.floor(time / 1000)), String(time), `${time}000`, `${time}000000`, '0', '4321', iso.replace('Z', '+00:00')]
  for (const text of texts) t.equal((await read(`/v1/logs/a?${new URLSearchParams({ since: text })}`)).records?.length, 3, text)
  for (const text of ['10m', '1h ago', '4321', String(time - 1)]) t.equal((await read(`/v1/logs/a?${new URLSearchParams({ until: text })}`)).records?.length, 0, text)
  for (const text of ['10 minutes', '10M', '-10m', '123456789012345678901', '2026-13-01']) t.equal((await ask(`/v1/logs/a?since=${text}`)).body.code, 'bad_query', text)
  const { body } = await ask('/v1/logs/a?since=2026-11-23T10:00+02:00')
  t.match(body.detail, /^since: Expected a time such as .* A \+ in a URL is written %2B\.$/)
})

tape('asked: a refused parameter is named, with the nearest one and all that there are', async (t) => {
  const { ask } = await serveThree(t)
  const detailOf = async (path) => (await ask(path)).body.detail
  const all = 'gt, gte, lt, lte, since, until, where, limit, reverse, explain'
  t.equal(await detailOf('/v1/logs/a?limt=1'), `this path has no parameter "limt"; did you mean limit? If not, it has ${all}`)
  t.equal(await detailOf('/v1/logs/a?x=1'), `this path has no parameter "x"; it has ${all}`)
  t.equal(await detailOf('/v1/logs?limit=1'), 'this path has no parameter "limit"; it has none')
  t.equal(await detailOf('/v1/logs/a?limit=1&limit=2'), 'limit is given 2 times; give it once')
  t.equal(await detailOf('/v1/logs/a?limit=1e3'), 'limit must be a whole number in decimal digits, not "1e3"')
  t.ok((await detailOf(`/v1/logs/a?${'x'.repeat(10_000)}=1`)).length < 200, 'a long name is cut')
})

tape('asked: every path of the document refuses a parameter that is not in the document, and one that is there twice', async (t) => {
  const { ask, url, read } = await serveThree(t)
  const { paths } = (await ask('/openapi.json')).body
  const { host } = new URL(url)
  for (const [template, operations] of Object.entries(paths)) {
    const path = template.replace('{name}', 'a').replace('{source}', 'door').replace('{event}', 'open')
    for (const [method, { parameters }] of Object.entries(operations)) {
      const request = async (query) => {
        const headers = { host, ...(method === 'post' && JSON_TYPE) }
        const { status, text } = await rawRequest(url, { path: `${path}?${query}`, method: method.toUpperCase(), headers, body: method === 'post' ? '1' : undefined })
        return `${status} ${text}`
      }
      t.match(await request('nonsense=1'), method === 'head' ? /^400 $/ : /^400 .*nonsense/, `${method} ${path}`)
      for (const { name } of parameters.filter((parameter) => parameter.in === 'query')) {
        t.match(await request(`${name}=1&${name}=2`), /^400/, `${method} ${path}: ${name}`)
      }
    }
  }
  t.deepEqual([(await read('/v1/logs/a')).records.length, (await ask('/v1/logs')).body.logs], [3, ['a']], 'nothing was stored')
})

tape('asked: an acknowledgement that is not known is refused, and never a weaker one', async (t) => {
  const { url, read, ask } = await serveThree(t)
  const body = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}'
  const { host } = new URL(url)
  for (const [query, prefer, expected, why = ''] of ACKS) {
    const stored = (await read('/v1/logs/a')).records.length
    const headers = { host, ...JSON_TYPE, ...(prefer !== undefined && { prefer }) }
    const isRefused = Number.isInteger(expected[0])
    const answers = {
      'POST logs': await rawRequest(url, { path: `/v1/logs/a${query}`, method: 'POST', headers, body: '1' }),
      'PUT event': await rawRequest(url, { path: `/v1/se/door/open${query}`, method: 'PUT', headers }),
      'POST OTLP': await rawRequest(url, { path: `/v1/logs${query}`, method: 'POST', headers, body })
    }
    for (const [name, { status, headers, text }] of Object.entries(answers)) {
      const { ack, code } = JSON.parse(text)
      const applied = headers['preference-applied'] ?? null
      const isOtlp = name === 'POST OTLP'
      const found = isRefused ? [status, isOtlp ? expected[1] : code] : [isOtlp ? expected[0] : ack, applied]
      t.deepEqual(found, expected, `${name}${query} ${prefer} ${why}`)
    }
    t.equal((await read('/v1/logs/a')).records.length - stored, isRefused ? 0 : 1)
  }
  const kept = ACKS.filter(([, , [first]]) => typeof first === 'string').length
  t.deepEqual((await ask('/v1/se/counts')).text.split('\n').slice(0, -2).map((line) => JSON.parse(line).count), [kept])
})

tape('asked: a header of a write that cannot be kept is refused, and nothing is stored', async (t) => {
  const { post, ask, read } = await serveThree(t)
  for (const [headers, expected] of WRITES) {
    const { status, body } = await post('/v1/logs/a', '1', headers)
    t.deepEqual([status, body.code], expected, JSON.stringify(headers))
    if (headers['content-type'] || headers['content-encoding']) continue
    for (const method of ['PUT', 'GET']) t.equal((await ask('/v1/se/door/open', { method, headers })).status, expected[0], `${method} event`)
    if (headers['idempotency-key'] === undefined) t.equal((await post('/v1/logs', '{"resourceLogs":[]}', headers)).status, expected[0], 'OTLP')
  }
  const key = { 'idempotency-key': 'k' }
  t.equal((await post('/v1/logs/a', '3', key)).status, 200)
  t.deepEqual((await ask('/v1/se/door/open', { method: 'PUT', headers: key })).body.code, 'bad_header', 'a retry would count twice')
  t.equal((await post('/v1/logs', '{"resourceLogs":[]}', key)).status, 200, 'forwarders send one to every collector')
  t.deepEqual([(await read('/v1/logs/a')).records.length, (await ask('/v1/logs')).body.logs], [4, ['a']])
})

tape('asked: headers of reads that are ignored get the whole answer, with a status that says so', async (t) => {
  const { ask } = await serveThree(t)
  const { text } = await ask('/v1/logs/a')
  for (const headers of IGNORED) {
    const found = await ask('/v1/logs/a', { headers })
    t.deepEqual([found.status, found.text, found.headers.get('content-type')], [200, text, 'application/x-ndjson; charset=utf-8'], JSON.stringify(headers))
  }
})

tape('asked: a live reader whose Last-Event-ID is no id of this server is told that it may have missed something', async (t) => {
  const { url } = await serveThree(t)
  for (const last of ['1e3', '-2', '0x10', 'x', '1, 2', '12345678901234567', '9999999']) {
    const stop = new AbortController()
    const headers = { accept: 'text/event-stream', 'last-event-id': last }
    const { body } = await fetch(`${url}/v1/logs/a`, { headers, signal: stop.signal })
    let text = ''
    const sink = new WritableStream({ write: (part) => { text += part } })
    const reading = body.pipeThrough(new TextDecoderStream()).pipeTo(sink).catch(() => {})
    await until(() => text.includes('event: ') || text.includes('data'))
    stop.abort()
    await reading
    t.match(text, /event: gone\n/, last)
  }
})
