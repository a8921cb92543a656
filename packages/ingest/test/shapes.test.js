'use strict'
// Every route that takes a body, with bodies of every shape, sent in every way: each gets its status, what a request
// holds is bounded by its bytes, and so is what is worked on between two turns of the event loop. Bytes are counted, no
// time is measured.

const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')
const zlib = require('node:zlib')
const tape = require('tape')
const { isLongRun, temporaryFolder, until } = require('@millrace/testkit')
const { TURN_SIZE } = require('../lib/event-loop-turns')
const { serveOpen, startProcess } = require('./helpers')

const MIB = 2 ** 20
const LIMITS = { bodySize: 4 * MIB, inflatedSize: 5 * MIB, recordSize: MIB, batchCount: 1000 }
/** What a record costs beside its bytes, and a chunk and a buffer that grows. */
const RECORD_COST = 512
const SLACK = 256 * 1024
const JSON_TYPE = 'application/json'
const LINES_TYPE = 'application/x-ndjson'
const PROTOBUF_TYPE = 'application/x-protobuf'

const fill = (text, size) => text.repeat(Math.ceil(size / text.length))
const keys = (size) => `{${Array.from({ length: size / 10 | 0 }, (_, n) => `"${String(n).padStart(5, '0')}":1`).join(',')}}`

/** Values by shape, and the status of one as a record. */
const VALUES = {
  'a small one': ['{"a":1}', 200],
  'one below the limit': [`"${fill('x', MIB - 10)}"`, 200],
  'many keys': [keys(MIB - 100_000), 200],
  'too many keys': [keys(3 * MIB), 413],
  'many empty objects': [`[${fill('{},', MIB - 100)}{}]`, 200],
  'too many empty objects': [`[${fill('{},', 3 * MIB)}{}]`, 413],
  'a long string': [`"${fill('x', 3 * MIB)}"`, 413],
  'a long key': [`{"${fill('x', 3 * MIB)}":1}`, 413],
  'a long number': [fill('1', 3 * MIB), 413],
  escapes: [`"${fill('\\u0000', 3 * MIB)}"`, 413],
  levels: [fill('[', 500_000), 400],
  'levels of objects': [fill('{"a":', 500_000), 400],
  'white space inside': [`[${fill(' ', 3 * MIB)}1]`, 413]
}

/** Bodies of a route: name, body, status. */
function * bodiesOf (type) {
  const isLines = type === LINES_TYPE
  for (const [name, [text, status]] of Object.entries(VALUES)) {
    yield [name, isLines ? `${text}\n` : `[${text}]`, status]
    // Alone, an array is a batch.
    if (!isLines && !text.startsWith('[')) yield [`${name}, alone`, text, status]
  }
  yield ['many tiny records', isLines ? fill('1\n', 3 * MIB) : `[${fill('1,', 3 * MIB)}1]`, 413]
  yield ['many records', isLines ? fill(`"${fill('x', 3000)}"\n`, 2.8 * MIB) : `[${fill(`"${fill('x', 3000)}",`, 2.8 * MIB)}1]`, 200]
  yield ['spaces', fill(' ', 3 * MIB), 400]
  yield ['spaces and a value', `${fill(' \r\n', 3 * MIB)}1`, 200]
  yield ['commas', fill(',', 3 * MIB), 400]
  yield ['NUL', Buffer.alloc(3 * MIB), 400]
  yield ['no UTF-8', Buffer.alloc(3 * MIB, 0xff), 400]
  yield ['nothing', '', 400]
}

const otlp = (record) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`

function * otlpJsonBodies () {
  yield ['a record', otlp('{"body":{"stringValue":"x"}}'), 200]
  for (const [name, [text, status]] of Object.entries(VALUES)) {
    yield [`unknown member: ${name}`, `{"x":${text},"resourceLogs":[]}`, status === 413 ? 200 : status]
    // A record that is too large is rejected, and the request is not.
    const ofRecord = name === 'many empty objects' ? 413 : status === 413 ? 200 : status
    yield [`unknown member of a record: ${name}`, otlp(`{"x":${text}}`), ofRecord]
    yield [`a name: ${name}`, `{${JSON.stringify(text)}:1,"resourceLogs":[]}`, 200]
    const isList = text.startsWith('[{}')
    const isKnown = isList || (text.startsWith('{') && status !== 400)
    // Without its list, an object with other members is refused.
    const object = text.startsWith('{"') ? `{"scopeLogs":null,${text.slice(1)}` : text
    yield [`resource logs: ${name}`, `{"resourceLogs":${isList ? text : `[${object}]`}}`, isKnown ? 200 : 400]
  }
  yield ['many tiny records', otlp(`${fill('{},', 3 * MIB)}{}`), 413]
  yield ['a large resource', `{"resourceLogs":[{"resource":{"attributes":[${fill('{"key":"k"},', 3 * MIB)}{}]},"scopeLogs":[]}]}`, 413]
  yield ['many values of a record', otlp(`{"body":{"arrayValue":{"values":[${fill('{},', MIB - 1000)}{}]}}}`), 413]
  yield ['many attributes', otlp(`{"attributes":[${fill('{},', 900_000)}{}]}`), 413]
  yield ['a large record beside others', otlp(`{},{"body":{"stringValue":"${fill('x', 2 * MIB)}"}},{}`), 200]
  yield ['many records', otlp(`${fill(`{"body":{"stringValue":"${fill('x', 3000)}"}},`, 2.8 * MIB)}{}`), 200]
  yield ['NUL', Buffer.alloc(3 * MIB), 400]
  yield ['nothing', '', 400]
}

/** A message of one field that holds bytes. */
function wrap (field, bytes) {
  const size = []
  for (let left = bytes.length; size.push(left > 0x7f ? left & 0x7f | 0x80 : left) && left > 0x7f;) left >>>= 7
  return Buffer.concat([Buffer.from([field << 3 | 2, ...size]), bytes])
}

function * protobufBodies () {
  const empties = (field, size) => Buffer.alloc(size, Buffer.from([field << 3 | 2, 0]))
  const inRecord = (bytes) => wrap(1, wrap(2, wrap(2, bytes)))
  let nested = Buffer.alloc(0)
  for (let depth = 0; depth < 3000; depth++) nested = wrap(5, wrap(1, nested))
  yield ['a record', inRecord(wrap(5, wrap(1, Buffer.from('x')))), 200]
  yield ['nothing', Buffer.alloc(0), 200]
  yield ['many tiny records', wrap(1, wrap(2, empties(2, 3 * MIB))), 413]
  yield ['many resources', empties(1, 3 * MIB), 200]
  yield ['many scopes', wrap(1, empties(2, 3 * MIB)), 200]
  yield ['many attributes', inRecord(empties(6, MIB - 1000)), 413]
  yield ['many values', inRecord(wrap(5, wrap(5, empties(1, MIB - 1000)))), 413]
  yield ['a large record', inRecord(wrap(5, wrap(1, Buffer.alloc(2 * MIB, 'x')))), 200]
  yield ['text that grows as JSON', inRecord(wrap(5, wrap(1, Buffer.alloc(MIB - 1000)))), 200]
  yield ['a large resource', wrap(1, wrap(1, Buffer.concat(Array(300).fill(wrap(1, wrap(1, Buffer.alloc(10_000, 'k'))))))), 413]
  yield ['unknown fields', Buffer.alloc(3 * MIB, Buffer.from([0x78, 0x01])), 200]
  yield ['groups', Buffer.alloc(3 * MIB, 0x7b), 400]
  yield ['levels', inRecord(wrap(5, nested)), 400]
  yield ['a length that lies', Buffer.concat([Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f]), Buffer.alloc(MIB)]), 400]
  yield ['NUL', Buffer.alloc(3 * MIB), 400]
}

const ROUTES = [
  ['POST', '/v1/logs/a', JSON_TYPE, () => bodiesOf(JSON_TYPE)],
  ['POST', '/v1/logs/a', LINES_TYPE, () => bodiesOf(LINES_TYPE)],
  ['POST', '/v1/logs/se', LINES_TYPE, () => bodiesOf(LINES_TYPE)],
  ['POST', '/v1/logs', JSON_TYPE, otlpJsonBodies],
  ['POST', '/v1/logs', PROTOBUF_TYPE, protobufBodies],
  ['PUT', '/v1/se/a/b', JSON_TYPE, () => [['nothing', '', 200], ['a value', '1', 400], ['much', fill('1', 3 * MIB), 400]]],
  ['POST', '/v1/se/counts', JSON_TYPE, () => [['nothing', '', 200], ['a value', '1', 400], ['much', fill('1', 3 * MIB), 400]]]
]

/** In pieces, of which the lengths are not told before. */
async function * inPieces (bytes) {
  for (let at = 0; at < bytes.length; at += 100_001) yield bytes.subarray(at, at + 100_001)
}

const pack = (body) => zlib.gzipSync(body, { level: 1 })
const GZIP = { 'content-encoding': 'gzip' }
const WAYS = {
  plain: (body) => ({ body }),
  'gzip in pieces': (body) => ({ body: inPieces(pack(body)), duplex: 'half', headers: GZIP }),
  ...(isLongRun && {
    'in pieces': (body) => ({ body: inPieces(body), duplex: 'half' }),
    gzip: (body) => ({ body: pack(body), headers: GZIP })
  })
}

for (const [method, path, type, bodies] of ROUTES) {
  tape(`shapes: ${method} ${path}, ${type}`, async (t) => {
    const { context, url, ask } = await serveOpen(t, { limits: LIMITS })
    const { turns, budget } = context
    const wrong = []
    let count = 0
    for (const [name, text, expected] of bodies()) {
      const body = Buffer.from(text)
      for (const [way, make] of Object.entries(WAYS)) {
        const { headers, ...request } = make(body)
        budget.peakSize = turns.peakSize = 0
        const { status } = await fetch(url + path, { method, headers: { 'content-type': type, ...headers }, ...request })
        await until(() => budget.size === 0)
        const heldMax = 2 * body.length + RECORD_COST * LIMITS.batchCount + SLACK
        if (status !== expected) wrong.push(`${name}, ${way}: ${status}, expected ${expected}`)
        if (budget.peakSize > heldMax) wrong.push(`${name}, ${way}: ${budget.peakSize} bytes were held for ${body.length}`)
        if (turns.peakSize > TURN_SIZE) wrong.push(`${name}, ${way}: ${turns.peakSize} bytes in a turn`)
        count++
      }
    }
    t.deepEqual(wrong, [], `${count} requests`)
    for (const coding of ['deflate', 'br', 'zstd', 'gzip, gzip']) {
      t.equal((await ask(path, { method, body: '1', headers: { 'content-type': type, 'content-encoding': coding } })).status, 415, coding)
    }
  })
}

tape('shapes: lengths that lie, bodies that are cut off, and one byte at a time', async (t) => {
  const { context, url, ask } = await serveOpen(t, { limits: LIMITS })
  const send = async (type, length, body) => {
    const socket = net.connect(new URL(url).port, '127.0.0.1')
    socket.on('error', () => {})
    const path = type === LINES_TYPE ? '/v1/logs/a' : '/v1/logs'
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`)
    for (const part of body) {
      socket.write(part)
      await sleep(0)
    }
    return socket
  }
  const answer = async (socket) => {
    let text = ''
    socket.on('data', (data) => { text += data })
    await until(() => /^HTTP\/1.1 \d+/.test(text) || socket.closed)
    socket.destroy()
    return text.slice(9, 12)
  }
  const many = Array.from({ length: 50 }, () => Buffer.from(`"${fill('x', 20_000)}"\n`))
  for (const type of [LINES_TYPE, JSON_TYPE, PROTOBUF_TYPE]) {
    const socket = await send(type, 4 * MIB, many)
    socket.destroy()
  }
  await until(() => context.budget.size === 0)
  t.pass('what was cut off is held no longer')
  t.equal(await answer(await send(LINES_TYPE, 5 * MIB, ['1'])), '413', 'a length above the limit')
  // What follows is no request.
  t.match(await answer(await send(LINES_TYPE, 1, ['1\n2\n3'])), /200|400/, 'a length that is too short')
  t.equal(await answer(await send(LINES_TYPE, 300, Array.from({ length: 300 }, () => '1'))), '200', 'one byte at a time')
  t.equal((await ask('/v1/logs/a?limit=1')).status, 200)
})

tape('shapes: all at once, with a small heap', async (t) => {
  const server = await startProcess(temporaryFolder(), {}, ['--max-old-space-size=256'])
  t.teardown(() => server.child.kill('SIGKILL'))
  const bombs = [
    ['/v1/logs/a', JSON_TYPE, `[${fill('{},', 31 * MIB)}1]`], ['/v1/logs/a', JSON_TYPE, keys(16 * MIB)],
    ['/v1/logs/a', LINES_TYPE, `[${fill('{},', 31 * MIB)}1]`], ['/v1/logs/se', LINES_TYPE, fill('{}\n', 31 * MIB)],
    ['/v1/logs', JSON_TYPE, otlp(`${fill('{},', 31 * MIB)}{}`)], ['/v1/logs', JSON_TYPE, `{"x":[${fill('{},', 31 * MIB)}1],"resourceLogs":[]}`],
    ['/v1/logs', JSON_TYPE, otlp(`{"attributes":[${fill('{},', 900_000)}{}]}`)],
    ['/v1/logs/a', LINES_TYPE, fill(`"${fill('x', 900_000)}"\n`, 30 * MIB)],
    ['/v1/logs', PROTOBUF_TYPE, Buffer.alloc(31 * MIB, Buffer.from([0x0a, 0x00]))]
  ].map(([path, type, body]) => [path, type, zlib.gzipSync(body)])
  const statuses = await Promise.all([...bombs, ...bombs, ...bombs].map(async ([path, type, body]) => {
    const headers = { 'content-type': type, 'content-encoding': 'gzip' }
    return (await fetch(server.url + path, { method: 'POST', body, headers })).status
  }))
  t.ok(statuses.every((status) => [200, 413, 503].includes(status)), statuses.join())
  t.equal((await server.post('/v1/logs/a', '1')).status, 200, 'it goes on')
  t.equal(server.child.exitCode, null)
})
