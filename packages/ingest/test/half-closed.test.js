'use strict'
// Clients that end their side of a connection, which some do behind their last request: the rest of it goes on.

const net = require('node:net')
const tape = require('tape')
const { until } = require('@millrace/testkit')
const { serve } = require('./helpers')

function connect (url, text) {
  const socket = net.connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  socket.on('end', () => socket.destroy())
  socket.write(text)
  return socket
}

/** What a socket gets before its end. */
function answerOf (socket) {
  let answer = ''
  socket.on('data', (data) => { answer += data })
  return new Promise((resolve) => socket.on('close', () => resolve(answer)))
}

function get (path, headers = '') {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
}

tape('half-closed: a client that ends its side behind its requests gets all answers: those that took a moment were lost, and their records were stored', async (t) => {
  const { url, post, read } = await serve(t)
  await post('/v1/logs/a', '[1,2]')
  const send = (text) => {
    const socket = connect(url, text)
    socket.end()
    return answerOf(socket)
  }
  const write = (headers) => `POST /v1/logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1\r\n${headers}\r\n3`
  const requests = {
    written: [write('')],
    buffered: [write('Prefer: ack=buffered\r\n')],
    synced: [write('Prefer: ack=synced\r\n')],
    'with a key': [write('Idempotency-Key: one\r\n')],
    'an event': ['PUT /v1/se/door/open HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    'a range': [get('/v1/logs/a')],
    counts: [get('/v1/se/counts')],
    'several in line': [write('Prefer: ack=synced\r\n'), get('/v1/logs/a?limit=1'), write('Prefer: ack=synced\r\n'), get('/v1/logs')]
  }
  for (const [what, sent] of Object.entries(requests)) {
    const statuses = [...(await send(sent.join(''))).matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status)
    t.deepEqual([what, statuses.length, statuses.every((status) => status[0] === '2')], [what, sent.length, true], statuses.join())
  }
  t.equal((await read('/v1/logs/a')).records.length, 8)
  t.match(await send(write('').slice(0, -1)), /^HTTP\/1.1 400/, 'a request that is cut off is none')
})

tape('half-closed: a client of a live stream that ends its side is let go at once', async (t) => {
  const { url, post, ask } = await serve(t, { limits: { heartbeatMs: 60_000 } })
  await post('/v1/logs/a', '1')
  const countReaders = async () => /^millrace_live_readers (\d+)/m.exec((await ask('/metrics')).text)[1]
  for (const path of ['/v1/logs/a?gt=-1', '/v1/logs/none']) {
    const socket = connect(url, get(path, 'Accept: text/event-stream\r\n'))
    await until(async () => await countReaders() === '1')
    socket.end()
    await until(async () => await countReaders() === '0')
  }
  t.pass('neither waits for a heartbeat')
})
