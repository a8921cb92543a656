'use strict'
// Reads beside writes: one bounded piece at a time, in turns, however many readers there are and however long their
// filters take.

const { once } = require('node:events')
const net = require('node:net')
const { setImmediate: nextTurn } = require('node:timers/promises')
const tape = require('tape')
const { failureOf, until } = require('@millrace/testkit')
const { parseQuery } = require('../lib/reading')
const { HEAVY_SIZE, SCAN_SIZE, Scans } = require('../lib/scans')
const { serve, serveOpen } = require('./helpers')

const LINES = { 'content-type': 'application/x-ndjson' }
/** As many conditions as fit in a URL. */
const conditions = Array.from({ length: 200 }, (_, n) => ({ path: `a.b.c${n}`, gt: n }))
const HEAVY = encodeURIComponent(JSON.stringify({ any: conditions }))

async function fill (post, name, count, size = 150) {
  const lines = Array.from({ length: 2000 }, (_, n) => JSON.stringify({ n, text: 'm'.repeat(size) })).join('\n')
  for (let sent = 0; sent < count; sent += 2000) await post(`/v1/logs/${name}`, lines, LINES)
}

tape('scans: pieces are read one at a time, in the order in which they were asked for', async (t) => {
  const scans = new Scans(10)
  const order = []
  const read = (name) => scans.run(1, async () => {
    order.push(name)
    await nextTurn()
  })
  const reader = async (name) => { for (let n = 0; n < 3; n++) await read(name) }
  await Promise.all(['a', 'b', 'c'].map(reader))
  t.deepEqual(order.join(''), 'abcabcabc')
  t.equal(scans.peakActive, 1)
  t.equal((await failureOf(() => scans.run(1, async () => { throw new Error('no') }))).message, 'no')
  t.equal(await scans.run(1, async () => 'next'), 'next', 'a failure holds up nobody')
  const small = []
  await Promise.all(Array.from({ length: 50 }, () => scans.run(0.001, async () => { small.push(1) })))
  t.equal(small.length, 50)
  t.ok(scans.turns.peakSize <= SCAN_SIZE, `${scans.turns.peakSize} bytes in a turn`)
})

tape('scans: readers with the longest filters and writers take turns', async (t) => {
  const { context, post, read } = await serveOpen(t, { limits: { scanMs: 60_000 } })
  await fill(post, 'big', 2000)
  let turns = 0
  let isOver = false
  const count = () => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const reads = Promise.all(Array.from({ length: 4 }, () => read(`/v1/logs/big?where=${HEAVY}`)))
  const before = turns
  const answers = await reads
  isOver = true
  t.ok(answers.every(({ records, end }) => records.length === 0 && end.reason === 'end'))
  const pieces = 4 * Math.floor(2000 * 200 / HEAVY_SIZE)
  t.ok(turns - before >= pieces, `${turns - before} turns of the event loop, for ${pieces} pieces`)
  t.equal(context.scans.peakActive, 1)
  t.ok(context.scans.turns.peakSize <= SCAN_SIZE)
  t.equal(context.scans.count, 0)
})

tape('scans: a long filter finds what a short one finds, in both directions, live and not', async (t) => {
  const { url, post, read } = await serveOpen(t)
  await post('/v1/logs/a', Array.from({ length: 300 }, (_, n) => JSON.stringify({ n, x: 'y'.repeat(n) })).join('\n'), LINES)
  const short = encodeURIComponent(JSON.stringify({ path: 'n', lt: 100 }))
  const both = [{ path: 'n', lt: 100 }, { not: { path: 'z', equals: 'z'.repeat(300) } }]
  const long = encodeURIComponent(JSON.stringify(both))
  for (const more of ['', '&reverse=true', '&limit=7', '&limit=7&reverse=true', '&gt=5000']) {
    const [one, other] = await Promise.all([short, long].map((where) => read(`/v1/logs/a?where=${where}${more}`)))
    t.ok(one.records.length > 0)
    t.deepEqual(other, one, more)
  }
  const controller = new AbortController()
  const headers = { accept: 'text/event-stream' }
  const response = await fetch(`${url}/v1/logs/a?gt=-1&where=${long}`, { headers, signal: controller.signal })
  let text = ''
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.includes('"n":99,')) break
  }
  t.equal(text.match(/^data: \{/gm).length, 100)
  controller.abort()
})

tape('scans: more readers than the limit get 503, and leave room again', async (t) => {
  const { url, ask, post } = await serve(t, { limits: { readers: 2 } })
  await fill(post, 'big', 6000, 1500)
  // They take nothing of their answers, which are larger than what a socket holds.
  const sockets = await Promise.all([1, 2].map(async () => {
    const socket = net.connect(new URL(url).port, '127.0.0.1')
    socket.write('GET /v1/logs/big HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await once(socket, 'readable')
    return socket
  }))
  const { status, headers, body } = await ask('/v1/logs/big?limit=1')
  t.deepEqual([status, headers.get('retry-after'), body.code], [503, '1', 'unavailable'])
  t.equal((await post('/v1/logs/big', '1')).status, 200, 'writes go on')
  for (const socket of sockets) socket.destroy()
  await until(async () => (await ask('/v1/logs/big?limit=1')).status === 200)
  t.pass('a reader that leaves makes room')
})

tape('scans: filters of strangers are bounded', async (t) => {
  const includes = (count) => JSON.stringify({ any: Array.from({ length: count }, () => ({ path: 'a', includes: 1 })) })
  t.ok(parseQuery({ where: includes(16) }))
  t.throws(() => parseQuery({ where: includes(17) }), { statusCode: 400 })
  const nested = (depth) => depth === 0 ? 1 : { path: [], includes: nested(depth - 1) }
  t.throws(() => parseQuery({ where: JSON.stringify(nested(20)) }), { statusCode: 400 })
  t.end()
})
