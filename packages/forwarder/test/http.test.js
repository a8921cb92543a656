'use strict'
// Sinks over HTTP, and streams: servers that answer anything, nothing, half, or hang up.

const http = require('node:http')
const net = require('node:net')
const { Writable } = require('node:stream')
const zlib = require('node:zlib')
const tape = require('tape')
const { OffsetLog } = require('@millrace/offset-log')
const { createRandom, failureOf, newPath, until } = require('@millrace/testkit')
const { httpSink, writableSink } = require('..')
const { parseDate, parseRetryAfter } = require('../lib/sinks/http-post')
const { fill, forward, kindsOf, makeLog, range, readBody } = require('./helpers')

const seed = Date.now() % 2 ** 31

/** A server that keeps the records of the requests that it accepts. `answer` returns true if it did otherwise. */
async function startServer (t, answer = () => false) {
  const server = http.createServer(async (request, response) => {
    const raw = await readBody(request)
    if (raw === null) return
    const text = String(request.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(raw) : raw)
    state.requests.push({ headers: request.headers, text, port: request.socket.remotePort })
    if (answer(request, response, text, state.requests.length)) return
    // On a busy machine the answer may be too late, and the batch comes again.
    const key = request.headers['idempotency-key']
    if (key !== state.lastKey) state.accepted.push(...text.trim().split('\n').map((line) => JSON.parse(line)))
    state.lastKey = key
    response.end('{}')
  })
  const state = { requests: [], accepted: [], lastKey: '', server, url: '' }
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  state.url = `http://127.0.0.1:${server.address().port}/in`
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return state
}

const numbersOf = ({ accepted }) => accepted.map(({ n }) => n)

tape('http: lines of JSON, keys, headers, gzip, one connection', async (t) => {
  const server = await startServer(t)
  const log = makeLog()
  await fill(log, 20)
  let token = 0
  const options = { headers: async () => ({ authorization: `Bearer ${++token}` }), gzip: true }
  const forwarder = forward(log, { sink: httpSink(server.url, options), batch: { count: 10 } })
  await forwarder.drained()
  t.deepEqual(numbersOf(server), range(0, 20))
  const { headers } = server.requests[1]
  t.deepEqual([headers['content-type'], headers['content-encoding']], ['application/x-ndjson', 'gzip'])
  t.equal(headers.authorization, 'Bearer 2')
  const { id } = await log.stats()
  t.match(headers['idempotency-key'], new RegExp(`^"${id}-\\d+-${log.since.value}"$`))
  t.equal(new Set(server.requests.map(({ port }) => port)).size, 1)
  await forwarder.close()
  await log.close()
})

tape('http: format, big integers, and the bytes of a log without a codec', async (t) => {
  const server = await startServer(t)
  const log = makeLog()
  await log.append([{ n: 1 }, { n: 2 }, { n: 3 }])
  const format = ({ seq, value }, id) => {
    if (value.n === 2) throw new Error('no 2')
    return { ...value, big: 2n ** 60n, key: `${id}-${seq}` }
  }
  const first = forward(log, { sink: httpSink(server.url, { format }), name: 'first' })
  await first.drained()
  t.deepEqual(server.accepted.map(({ n, big }) => [n, big]), [[1, String(2n ** 60n)], [3, String(2n ** 60n)]])
  t.equal(first.stats().refused, 1)
  await first.close()
  await log.close()
  const bytes = OffsetLog(log.filename)
  const second = forward(bytes, { sink: httpSink(server.url), name: 'second' })
  await second.drained()
  t.equal(server.requests.at(-1).text, '{"n":1}\n{"n":2}\n{"n":3}\n')
  await second.close()
  await bytes.close()
})

tape('http: 429 and 503 are tried again, as late as Retry-After says; so are 401, 404, 500 and redirects', async (t) => {
  const statuses = [429, 503, 401, 404, 500, 302, 408]
  const server = await startServer(t, (request, response, text, count) => {
    const status = statuses[count - 1]
    if (status === undefined) return false
    response.writeHead(status, count === 1 ? { 'retry-after': '1' } : {}).end('x'.repeat(100_000))
    return true
  })
  const log = makeLog()
  await fill(log, 5)
  const forwarder = forward(log, { sink: httpSink(server.url) })
  await forwarder.drained()
  t.deepEqual(numbersOf(server), range(0, 5))
  const retries = forwarder.reports.filter(({ what }) => what === 'retry')
  t.equal(retries.length, statuses.length)
  t.ok(retries[0].delayMs >= 1000)
  for (const [index, status] of statuses.entries()) t.ok(retries[index].error.message.includes(`answered ${status}`), `${status}`)
  t.ok(retries.every(({ error }) => error.code === 'ERR_SINK_UNAVAILABLE' && error.message.length < 500))
  t.equal(forwarder.stats().refused, 0)
  await forwarder.close()
  await log.close()
})

tape('http: 400 finds the poison, 413 makes smaller batches', async (t) => {
  const server = await startServer(t, (request, response, text) => {
    const status = text.length > 300 ? 413 : text.includes('"n":7}') ? 400 : 0
    if (status) response.writeHead(status).end('bad n')
    return status !== 0
  })
  const log = makeLog()
  await fill(log, 100)
  const forwarder = forward(log, { sink: httpSink(server.url) })
  await forwarder.drained()
  t.deepEqual(numbersOf(server), range(0, 100).filter((n) => n !== 7))
  t.deepEqual(kindsOf(forwarder), ['refused'])
  t.ok(forwarder.reports[0].error.message.endsWith('answered 400 Bad Request: bad n'))
  t.equal(forwarder.stats().refused, 1)
  await forwarder.close()
  await log.close()
})

tape(`http: a server that hangs, hangs up, answers half, or is gone for a while, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const hostile = [
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end(),
    () => {}, // hangs
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"half":'),
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{"half":'), // and hangs
    (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc'),
    (socket) => socket.end('SSH-2.0-OpenSSH\r\n')
  ]
  let count = 0
  const server = await startServer(t, (request) => {
    if (count++ % 2 === 1) return false
    hostile[count <= 16 ? count >> 1 : random(hostile.length)](request.socket)
    return true
  })
  const log = makeLog()
  await fill(log, 60)
  const forwarder = forward(log, { sink: httpSink(server.url, { timeoutMs: 100 }), batch: { count: 5 } })
  await forwarder.drained()
  t.deepEqual(numbersOf(server), range(0, 60), 'each once')
  t.ok(forwarder.stats().failures >= 4, `${forwarder.stats().failures} failures`)
  await forwarder.close()
  await log.close()
})

tape('http: a connection that the server closed while it was idle is no failure', async (t) => {
  const server = await startServer(t)
  server.server.keepAliveTimeout = 1
  const log = makeLog()
  const forwarder = forward(log, { sink: httpSink(server.url) })
  for (let n = 0; n < 5; n++) {
    await fill(log, 1, n)
    await forwarder.drained()
    server.server.closeIdleConnections()
  }
  t.deepEqual(numbersOf(server), range(0, 5))
  t.deepEqual(forwarder.reports, [])
  await forwarder.close()
  await log.close()
})

const TOO_LARGE = 'HTTP/1.1 413 Content Too Large\r\n'
/** How a server may refuse a body that it has not read, and close. */
const EARLY_ANSWERS = {
  'whole, then closes': (socket) => {
    socket.write(`${TOO_LARGE}content-length: 4\r\n\r\nbody`)
    socket.destroy()
  },
  'up to the close': (socket) => {
    socket.write(`${TOO_LARGE}connection: close\r\n\r\nbody`)
    socket.destroy()
  },
  'whole, then resets': (socket) => socket.write(`${TOO_LARGE}content-length: 4\r\n\r\nbody`, () => socket.resetAndDestroy()),
  'half, then resets': (socket) => socket.write(`${TOO_LARGE}content-length: 4\r\n\r\nbo`, () => socket.resetAndDestroy()),
  'but the reset takes it': (socket, isAsked) => {
    if (isAsked) socket.end(`${TOO_LARGE}content-length: 4\r\n\r\nbody`)
    else socket.resetAndDestroy()
  }
}

for (const [how, answer] of Object.entries(EARLY_ANSWERS)) {
  tape(`http: 413 before the body is read is answered ${how}: the batch is halved`, async (t) => {
    const accepted = []
    const server = net.createServer((socket) => {
      let text = ''
      socket.on('error', () => {}).on('data', (part) => {
        text += part
        const size = Number(/content-length: (\d+)/i.exec(text)?.[1])
        const isAsked = /expect: 100-continue/i.test(text)
        const [, body = ''] = text.split('\r\n\r\n')
        if (size > 1_000_000) {
          socket.pause()
          answer(socket, isAsked)
        } else if (isAsked && body === '') socket.write('HTTP/1.1 100 Continue\r\n\r\n')
        else if (body.length === size) {
          accepted.push(...body.trim().split('\n').map((line) => JSON.parse(line).n))
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
          text = ''
        }
      })
    })
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    const log = makeLog()
    await log.append(Array.from({ length: 12 }, (_, n) => ({ n, text: 'x'.repeat(300_000) })))
    const sink = httpSink(`http://127.0.0.1:${server.address().port}/in`)
    const forwarder = forward(log, { sink, batch: { count: 12, size: 2 ** 23 } })
    await forwarder.drained()
    t.deepEqual(accepted, range(0, 12), 'each once')
    t.equal(forwarder.stats().refused, 0)
    await forwarder.close()
    await log.close()
  })
}

tape('http: close ends a request that hangs', async (t) => {
  const server = await startServer(t, () => true)
  const log = makeLog()
  await fill(log, 1)
  const forwarder = forward(log, { sink: httpSink(server.url) })
  while (server.requests.length === 0) await new Promise(setImmediate)
  t.deepEqual(await forwarder.close({ drain: 30 }), { isDrained: false })
  await log.close()
})

tape('http: no password of the address gets into a report', async (t) => {
  const server = await startServer(t, (request, response) => {
    if (request.headers.authorization) response.writeHead(503).end()
    return Boolean(request.headers.authorization)
  })
  const log = makeLog()
  await fill(log, 1)
  const url = new URL(server.url)
  Object.assign(url, { username: 'ada', password: 'secret', search: '?token=secret' })
  const forwarder = forward(log, { sink: httpSink(url) })
  while (forwarder.reports.length === 0) await new Promise(setImmediate)
  t.notOk(forwarder.reports[0].message.includes('secret'), forwarder.reports[0].message)
  await forwarder.close()
  await log.close()
})

tape('http: misuse', (t) => {
  const wrong = [[], ['ftp://x'], ['no url'], ['http://x', { headers: 5 }], ['http://x', { header: {} }], ['http://x', { timeoutMs: 0 }],
    ['http://x', { refusedStatus: 400 }], ['http://x', { format: {} }]]
  for (const args of wrong) t.throws(() => httpSink(...args), (err) => err.code === 'ERR_INVALID_ARGUMENT', JSON.stringify(args))
  t.end()
})

tape('Retry-After: seconds, or a date', (t) => {
  const now = Date.parse('Wed, 21 Oct 2015 07:28:00 GMT')
  const cases = [['120', 120_000], [' 3 ', 3000], ['Wed, 21 Oct 2015 07:29:00 GMT', 60_000], ['Wed, 21 Oct 2015 07:20:00 GMT', undefined],
    ['Wednesday, 21-Oct-15 07:29:00 GMT', 60_000], ['Wed Oct 21 07:29:00 2015', 60_000], ['', undefined],
    ['soon', undefined], ['soon 9999', undefined], ['2030', 2_030_000], ['1.5', undefined], ['Wed, 99 Oct 2015 07:29:00 GMT', undefined],
    ['-5', undefined], ['0', undefined], [undefined, undefined]]
  for (const [text, ms] of cases) t.equal(parseRetryAfter(text, now), ms, String(text))
  for (const text of [undefined, '', 'now', '5', '2015-10-21', 'Wed']) t.equal(parseDate(text), undefined, `no Date: ${text}`)
  t.end()
})

tape('Retry-After: a date is compared with the date of the answer, whatever our clock says', async (t) => {
  const HOUR_MS = 3_600_000
  const now = Date.now()
  const text = (ms) => new Date(ms).toUTCString()
  // Our clock minus the server's, what the server says, and the least and the most that is waited.
  const cases = [
    [0, { date: text(now), 'retry-after': text(now + 60_000) }, 60_000, 60_000],
    [-HOUR_MS, { date: text(now + HOUR_MS), 'retry-after': text(now + HOUR_MS + 60_000) }, 60_000, 60_000],
    [HOUR_MS, { date: text(now - HOUR_MS), 'retry-after': text(now - HOUR_MS + 60_000) }, 60_000, 60_000],
    [10 * 8766 * HOUR_MS, { date: text(now - 10 * 8766 * HOUR_MS), 'retry-after': text(now - 10 * 8766 * HOUR_MS + 5000) }, 5000, 5000],
    [0, { date: 'nonsense', 'retry-after': text(now + 600_000) }, 500_000, 600_000],
    [0, { 'retry-after': text(now + 600_000) }, 500_000, 600_000],
    [HOUR_MS, { date: text(now - HOUR_MS), 'retry-after': text(now - HOUR_MS - 5000) }, 0, 1000]
  ]
  for (const [skewMs, headers, leastMs, mostMs] of cases) {
    const server = await startServer(t, (request, response) => {
      response.sendDate = false
      return response.writeHead(503, headers).end()
    })
    const log = makeLog()
    await fill(log, 1)
    const forwarder = forward(log, { sink: httpSink(server.url), backoff: { minMs: 1, maxMs: 1 } })
    await until(() => forwarder.reports.length > 0)
    const { delayMs } = forwarder.reports[0]
    t.ok(delayMs >= leastMs && delayMs <= mostMs, `our clock is ahead by ${skewMs / 1000} s: waits ${delayMs} ms`)
    await forwarder.close()
    await log.close()
  }
})

tape('writable: lines in order, with back-pressure, and a new stream after a failure', async (t) => {
  const written = []
  let madeCount = 0
  const create = () => {
    madeCount++
    let left = 2
    return new Writable({
      highWaterMark: 10,
      write (chunk, encoding, cb) {
        if (left-- === 0 && madeCount < 4) return cb(new Error('broken pipe'))
        written.push(String(chunk))
        setImmediate(cb)
      }
    })
  }
  const log = makeLog()
  await fill(log, 100)
  const forwarder = forward(log, { sink: writableSink(create), batch: { count: 10 } })
  await forwarder.drained()
  t.deepEqual(written.join('').trim().split('\n').map((line) => JSON.parse(line).n), range(0, 100))
  t.equal(madeCount, 4)
  t.deepEqual(kindsOf(forwarder), ['retry', 'recovered'])
  await forwarder.close()
  await log.close()
})

tape('writable: values to an object stream; a stream that has ended is told', async (t) => {
  const values = []
  const write = (value, encoding, cb) => {
    values.push(value)
    setImmediate(cb)
  }
  const stream = new Writable({ objectMode: true, highWaterMark: 1, write })
  const log = makeLog()
  await fill(log, 10)
  const forwarder = forward(log, { sink: writableSink(stream) })
  await forwarder.drained()
  t.deepEqual(values.map(({ n }) => n), range(0, 10))
  stream.end()
  await fill(log, 1, 10)
  while (forwarder.reports.length === 0) await new Promise(setImmediate)
  t.match(forwarder.reports[0].message, /the stream has ended/)
  await forwarder.close()
  await log.close()
  t.throws(() => writableSink({}), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  t.throws(() => writableSink(stream, { format: 5 }), (err) => err.code === 'ERR_INVALID_ARGUMENT')
})

tape('writable: a TCP server that comes and goes', async (t) => {
  let text = ''
  const server = net.createServer((socket) => {
    socket.on('error', () => {}).on('data', (part) => { text += part })
  })
  const socketPath = process.platform === 'win32' ? '\\\\.\\pipe\\millrace-forwarder' : newPath('socket')
  const log = makeLog()
  await fill(log, 10)
  const forwarder = forward(log, { sink: writableSink(() => net.connect(socketPath)) })
  const drained = failureOf(() => forwarder.drained())
  while (forwarder.stats().failures < 3) await new Promise(setImmediate)
  server.listen(socketPath)
  t.equal(await drained, null)
  while (text.split('\n').length < 11) await new Promise(setImmediate)
  t.deepEqual(text.trim().split('\n').map((line) => JSON.parse(line).n), range(0, 10))
  await forwarder.close()
  server.close()
  await log.close()
})
