'use strict'
// Clients that are slow, half there or too many: memory stays bounded, others are served, and each limit refuses.

const { once } = require('node:events')
const fs = require('node:fs')
const http = require('node:http')
const net = require('node:net')
const { setTimeout: sleep } = require('node:timers/promises')
const zlib = require('node:zlib')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { faultyStorage, temporaryFolder, until } = require('@millrace/testkit')
const { serve, startProcess } = require('./helpers')

const MIB = 2 ** 20
const READER_COUNT = 8

function connect (url, bytes) {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
  socket.on('error', () => {})
  return socket
}

function get (path, headers = '') {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`
}

/** The socket's answer, once it has closed. */
function answerOf (socket) {
  let answer = ''
  socket.on('data', (data) => { answer += data })
  return new Promise((resolve) => socket.on('close', () => resolve(answer)))
}

const memoryOf = (pid) => Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024
const countDescriptors = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length

for (const [kind, headers] of [['lines', ''], ['server-sent events', 'Accept: text/event-stream\r\n']]) {
  tape(`stalled readers of ${kind}: memory is bounded, others are served, and they are cut off`, async (t) => {
    if (process.platform !== 'linux') return t.end()
    const server = await startProcess(temporaryFolder(), { limits: { stallMs: 1500 } })
    t.teardown(() => server.child.kill('SIGKILL'))
    const { pid } = server.child
    const batch = JSON.stringify(Array.from({ length: 1000 }, (_, n) => 'x'.repeat(1000) + n))
    for (let count = 0; count < 20; count++) await server.post('/v1/logs/a', batch)
    await server.read('/v1/logs/a?reverse=true')
    const before = { files: countDescriptors(pid), memory: memoryOf(pid) }
    const sockets = Array.from({ length: READER_COUNT }, () => connect(server.url, get('/v1/logs/a?gt=-1', headers)).pause())
    // Connections of earlier requests may close meanwhile, so a count of all does not tell.
    await Promise.all(sockets.map((socket) => once(socket, 'readable')))
    await sleep(500)
    const more = memoryOf(pid) - before.memory
    t.ok(more < 64 * MIB, `${Math.round(more / MIB)} MiB for ${READER_COUNT} readers of 20 MB`)
    t.equal((await server.post('/v1/logs/a?ack=synced', '"meanwhile"')).status, 200)
    t.equal((await server.read('/v1/logs/a?limit=1&reverse=true')).records[0].value, 'meanwhile')
    await until(() => countDescriptors(pid) <= before.files + 2)
    t.pass('they were cut off')
    for (const socket of sockets) socket.destroy()
  })
}

tape('a connection that was read from is not cut off later, when it has nothing to take', async (t) => {
  const { url, post } = await serve(t, { limits: { stallMs: 100 } })
  await post('/v1/logs/se', '{"source":"s","event":"e"}')
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (path) => new Promise((resolve, reject) => {
    const request = http.get(url + path, { agent }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode, isReused: request.reusedSocket }))
    }).on('error', reject)
  })
  t.deepEqual(await ask('/v1/logs/se'), { status: 200, isReused: false })
  for (const path of ['/v1/se/counts', '/v1/logs/se', '/v1/logs']) {
    await sleep(400)
    t.deepEqual(await ask(path), { status: 200, isReused: true }, path)
  }
  agent.destroy()
})

tape('a range is read by a request that waits in line behind another one on its connection', async (t) => {
  const { url, post } = await serve(t)
  await post('/v1/logs/a', '"one"')
  const write = get('/v1/se/source/event?ack=synced').replace('GET', 'PUT')
  const socket = connect(url, write + get('/v1/logs/a') + get('/v1/logs/a', 'Connection: close\r\n'))
  const answer = await answerOf(socket)
  t.deepEqual(answer.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 200'])
})

tape('half-sent requests hold nobody up, and end with 408', async (t) => {
  const { url, post } = await serve(t, { requestMs: 1500 })
  const head = 'POST /v1/logs/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{'
  const halves = ['', 'POST', head.slice(0, 40), head, get('/v1/logs').slice(0, -2)]
  const answers = Array.from({ length: 100 }, (_, index) => answerOf(connect(url, halves[index % halves.length])))
  await sleep(100)
  for (let count = 0; count < 20; count++) t.equal((await post('/v1/logs/a?ack=synced', String(count))).status, 200)
  const given = await Promise.all(answers)
  t.ok(given.every((answer) => /^(HTTP\/1\.1 408 |$)/.test(answer)), [...new Set(given.map((answer) => answer.slice(0, 20)))].join())
  t.ok(given.filter((answer) => answer !== '').length >= 60, 'those that had sent something got an answer')
})

tape('a trickle: a buffered event waits for the interval, and not for those that follow it', async (t) => {
  const { url, post } = await serve(t, { bufferMs: 60 })
  await post('/v1/logs/a', '"first"')
  let text = ''
  const countReceived = () => text.match(/"id":\d+\}\}\n\n/g)?.length ?? 0
  const reader = connect(url, get('/v1/logs/a', 'Accept: text/event-stream\r\n'))
  reader.on('data', (data) => { text += data })
  await until(() => text.includes(': connected\n\n'))
  for (let id = 0; id < 40; id++) {
    await post('/v1/logs/a?ack=buffered', JSON.stringify({ id }))
    await sleep(id % 3 * 15)
  }
  // On a slow machine the trickle takes longer, and the interval does not.
  const early = countReceived()
  t.ok(early >= 10, `${early} of 40 came while it went on`)
  await until(() => countReceived() === 40)
  reader.destroy()
})

tape('order: the events of each client stay in its order, however they are acknowledged and packed', async (t) => {
  const { post, read } = await serve(t, { bufferMs: 5 })
  const acks = ['buffered', 'written', 'synced']
  await Promise.all(Array.from({ length: 8 }, async (_, client) => {
    for (let n = 0; n < 40; n++) {
      const body = JSON.stringify([{ client, n }, { client, n: n + 0.5 }])
      const isPacked = (n + client) % 3 === 0
      const headers = { prefer: `ack=${acks[(n * 7 + client) % 3]}`, ...(isPacked && { 'content-encoding': 'gzip' }) }
      const { status } = await post('/v1/logs/a', isPacked ? zlib.gzipSync(body) : body, headers)
      if (status >= 300) t.fail(`${client} ${n}: ${status}`)
    }
  }))
  await post('/v1/logs/a', '{"client":8}')
  const { records } = await read('/v1/logs/a')
  t.equal(records.length, 8 * 80 + 1)
  for (let client = 0; client < 8; client++) {
    const ns = records.map(({ value }) => value).filter((value) => value.client === client).map(({ n }) => n)
    t.deepEqual(ns, ns.map((_, index) => index / 2), `client ${client}`)
  }
  const times = records.map(({ time }) => time)
  t.deepEqual(times, [...times].sort((a, b) => a - b), 'the time never falls')
})

tape('limits: connections, and silence', async (t) => {
  const { url } = await serve(t, { connections: 3, idleMs: 500 })
  // They are accepted in this order.
  const answers = [1, 2, 3, 4].map(() => answerOf(connect(url, get('/healthz'))))
  t.equal(await answers.pop(), '', 'one too many is closed')
  const given = await Promise.all(answers)
  t.ok(given.every((answer) => answer.startsWith('HTTP/1.1 200 ')), 'the others had answers, and were closed for their silence')
  t.match(await answerOf(connect(url, get('/healthz', 'Connection: close\r\n'))), / 200 /, 'then there is room')
})

tape('limits: open logs that are all in use', async (t) => {
  const { url, post, ask } = await serve(t, { openLogs: 1 })
  await post('/v1/logs/a', '1')
  const socket = connect(url, get('/v1/logs/a', 'Accept: text/event-stream\r\n'))
  await new Promise((resolve) => socket.once('data', resolve))
  const { status, headers, body } = await post('/v1/logs/b', '1')
  t.deepEqual([status, headers.get('retry-after'), body.code], [503, '1', 'unavailable'])
  socket.destroy()
  await until(async () => (await post('/v1/logs/b', '1')).status === 200)
  t.equal((await ask('/v1/logs/a')).status, 200)
})

tape('limits: bytes that wait to be written', async (t) => {
  const faults = { isFull: false }
  const storage = faultyStorage(fileStorage, ({ name }) => faults.isFull && name === 'write' && {
    error: Object.assign(new Error('ENOSPC: as if'), { code: 'ENOSPC', syscall: 'write' })
  })
  const { post, read } = await serve(t, { log: { storage }, limits: { pendingSize: 1000 }, bufferMs: 5 })
  await post('/v1/logs/a', '"first"')
  faults.isFull = true
  const send = (n) => post('/v1/logs/a?ack=buffered', JSON.stringify(`${n} ${'x'.repeat(300)}`))
  const statuses = []
  for (let n = 0; n < 6; n++) statuses.push((await send(n)).status)
  t.deepEqual(statuses, [202, 202, 503, 503, 503, 503])
  faults.isFull = false
  await until(async () => (await read('/v1/logs/a')).records?.length === 3)
  t.equal((await send(7)).status, 202)
})

tape('limits: the number and the age of idempotency keys, and the length of a filter', async (t) => {
  const isReplayed = async ({ post }, key) => {
    return (await post('/v1/logs/a', '1', { 'idempotency-key': key })).headers.get('idempotency-replayed') === 'true'
  }
  const few = await serve(t, { limits: { idempotencyKeys: 2 } })
  const replayed = []
  for (const key of ['k1', 'k2', 'k2', 'k3', 'k1']) replayed.push(await isReplayed(few, key))
  t.deepEqual(replayed, [false, false, true, false, false], 'the oldest one is forgotten')
  const short = await serve(t, { limits: { idempotencyMs: 300 } })
  t.notOk(await isReplayed(short, 'k1'))
  await sleep(400)
  t.notOk(await isReplayed(short, 'k1'), 'an old one is forgotten')
  const where = encodeURIComponent(JSON.stringify({ path: 'a', equals: 'x'.repeat(20_000) }))
  const { status } = await few.read(`/v1/logs/a?where=${where}`)
  t.ok(status === 400 || status === 431, String(status))
})
