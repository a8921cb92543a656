'use strict'
// Bytes on the socket that are nearly a request, or none: the server neither ends nor answers 500, keeps no descriptor,
// stores only what is JSON, and serves others. MILLRACE_FUZZ=100000 makes it longer, MILLRACE_SEED=N repeats a run.

const fs = require('node:fs')
const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')
const zlib = require('node:zlib')
const tape = require('tape')
const { createRandom, temporaryFolder } = require('@millrace/testkit')
const { mutateBytes } = require('../fuzz/mutate-bytes')
const { startProcess } = require('../../packages/ingest/test/helpers')

const SAMPLE_COUNT = Number(process.env.MILLRACE_FUZZ ?? 600)
const AT_ONCE = 12
/** For bytes that get no answer. */
const PATIENCE_MS = 150
const STATUS = /HTTP\/1\.1 (\d{3}) /g
/** 503 and 505 are answers too. */
const FAILURE = /HTTP\/1\.1 5(?!03|05)/

const post = (body, headers = '', type = 'application/json') => Buffer.concat([
  Buffer.from(`POST /v1/logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n${headers}Content-Length: ${body.length}\r\n\r\n`),
  Buffer.from(body)
])
const get = (path, headers = '') => Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`)
const chunked = Buffer.from('POST /v1/logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
  'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n')

/** Requests that are right. */
const REQUESTS = [
  post('{"a":1}'),
  post('[{"a":1},[2],"three"]', 'Prefer: ack=synced\r\n'),
  post('{"a":1}\n{"b":2}\r\n\n"c"', 'Prefer: ack=buffered\r\n', 'application/x-ndjson'),
  post(zlib.gzipSync('{"a":"packed"}'), 'Content-Encoding: gzip\r\n'),
  post('{"once":1}', 'Idempotency-Key: k1\r\n'),
  post('{}', 'Expect: 100-continue\r\n'),
  chunked,
  Buffer.from('PUT /v1/se/source/event?key=k&value=v HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  get('/v1/logs/a?limit=3&reverse=true'),
  get('/v1/logs/a?gt=-1&where=%7B%22path%22%3A%22a%22%2C%22gte%22%3A1%7D&since=2001-01-01&until=1790000000000'),
  get('/v1/logs/a?gt=-1', 'Accept: text/event-stream\r\nLast-Event-ID: 32808\r\n'),
  get('/v1/logs', 'Authorization: Bearer mr_x\r\n'),
  get('/healthz', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'),
  Buffer.from('OPTIONS * HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n'),
  Buffer.concat([get('/healthz'), post('1'), get('/readyz')])
]

/** A part of a request in another, or damaged bytes, or noise. */
function createSample (random) {
  const one = REQUESTS[random(REQUESTS.length)]
  const other = REQUESTS[random(REQUESTS.length)]
  const kind = random(10)
  if (kind === 0) return one
  if (kind === 1) return Buffer.concat([one.subarray(0, random(one.length)), other.subarray(random(other.length))])
  if (kind === 2) return one.subarray(0, random(one.length))
  if (kind === 3) return Buffer.concat([mutateBytes(random, one), other])
  return mutateBytes(random, one)
}

/** Sends the bytes in a few pieces, and ends the connection in one of the ways that there are. */
function sendBytes (port, bytes, random) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    let answer = ''
    let at = 0
    const pieceCount = 1 + random(3)
    const write = () => {
      const pieceEnd = at + Math.ceil(bytes.length / pieceCount)
      socket.write(bytes.subarray(at, pieceEnd))
      at = pieceEnd
      if (at < bytes.length) setImmediate(write)
    }
    const how = random(3)
    const end = () => how === 0 ? socket.resetAndDestroy() : socket.destroy()
    const patience = setTimeout(end, random(PATIENCE_MS))
    socket.on('data', (data) => {
      if (answer === '') setTimeout(end, random(5))
      answer += data.toString('latin1')
    })
    socket.on('error', () => {})
    socket.on('connect', () => {
      write()
      if (how === 2) socket.end()
    })
    socket.on('close', () => {
      clearTimeout(patience)
      resolve(answer)
    })
  })
}

const countDescriptors = (pid) => process.platform === 'linux' ? fs.readdirSync(`/proc/${pid}/fd`).length : 0

tape('socket: no bytes end the server, get a 500 or keep a descriptor', async (t) => {
  const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1e9)
  const random = createRandom(seed)
  const server = await startProcess(temporaryFolder(), { requestMs: 2000, limits: { stallMs: 1000 } })
  t.teardown(() => server.child.kill('SIGKILL'))
  const port = Number(new URL(server.url).port)
  const read = async () => server.read('/v1/logs/a?gt=-1')
  await server.post('/v1/logs/a', '"first"')
  await server.ask('/v1/se/source/event', { method: 'PUT' })
  await read()
  const before = countDescriptors(server.child.pid)
  const statuses = new Map()
  let count = 0
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (count++ < SAMPLE_COUNT && server.child.exitCode === null) {
      const bytes = createSample(random)
      const answer = await sendBytes(port, bytes, random)
      for (const [, status] of answer.matchAll(STATUS)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (!FAILURE.test(answer)) continue
      t.fail(`seed ${seed}: ${JSON.stringify(bytes.toString('latin1'))}: ${answer.slice(0, 300)}`)
    }
  }))
  t.equal(server.child.exitCode, null, `seed ${seed}: the server runs`)
  t.ok(statuses.get('200') > 0 && statuses.get('400') > 0, JSON.stringify(Object.fromEntries(statuses)))
  t.equal((await server.post('/v1/logs/a?ack=synced', '"last"')).status, 200, 'others are served')
  const { status, records } = await read()
  t.equal(status, 200)
  t.ok(records.some(({ value }) => value === 'last'), 'all that is stored is JSON')
  const isDone = () => countDescriptors(server.child.pid) <= before
  for (let waitedMs = 0; !isDone() && waitedMs < 10_000; waitedMs += 100) await sleep(100)
  // A log whose damaged name came up is one more file with its lock.
  const names = fs.readdirSync(server.folder).filter((name) => name.startsWith('log-'))
  const after = countDescriptors(server.child.pid)
  const what = `seed ${seed}: ${before} descriptors before, ${after} after, ${names.length} logs`
  t.ok(after <= before + 2 * (names.length - 2) + AT_ONCE, what)
})
