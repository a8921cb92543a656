'use strict'
// Live streams: requests that cannot be served yet, ids that move without records, ids that are not ours, keys that are
// revoked, and a server that stops.

const fs = require('node:fs')
const net = require('node:net')
const path = require('node:path')
const tape = require('tape')
const { SegmentedLog } = require('@millrace/segmented-log')
const { temporaryFolder, until } = require('@millrace/testkit')
const { createIngest, createKey, revokeKey } = require('..')
const { recordCodec } = require('../lib/record')
const { clientOf, rawRequest, serve } = require('./helpers')

const EVENTS = { accept: 'text/event-stream' }

/** @param {string} block */
function parseBlock (block) {
  return Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s)))
}

/** Of the id of an event. */
function seqOf ({ id }) {
  return Number(id.split('-')[0])
}

/** A live stream that is read as an EventSource reads it. */
function listen (url, { query = '', lastId, headers = {}, path = '/v1/logs/a' } = {}) {
  const stream = { status: null, text: '', isEnded: false, abort: new AbortController() }
  const all = { ...EVENTS, ...headers, ...(lastId !== undefined && { 'last-event-id': lastId }) }
  stream.done = fetch(`${url}${path}${query}`, { headers: all, signal: stream.abort.signal }).then(async (response) => {
    stream.status = response.status
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) stream.text += part
    stream.isEnded = true
  }).catch(() => { stream.isEnded = true })
  return Object.defineProperties(stream, {
    blocks: { get: () => stream.text.split('\n\n').slice(0, -1).map(parseBlock) },
    values: { get: () => stream.blocks.filter(({ data }) => data).map(({ data }) => JSON.parse(data).value) },
    marks: { get: () => stream.blocks.filter(({ event }) => event) },
    isPlaced: { get: () => stream.marks.length > 0 }
  })
}

/** Streams end before the server is closed. */
function listenIn (t, url, options) {
  const stream = listen(url, options)
  t.teardown(() => stream.abort.abort())
  return stream
}

tape('live: a request waits for the first record of its log, and gets it', async (t) => {
  const { url, post, server } = await serve(t)
  const [waiting, other] = [listenIn(t, url), listenIn(t, url, { path: '/v1/logs/other' })]
  await until(() => waiting.status === 200 && other.status === 200)
  await post('/v1/logs/a', '[0,1]')
  await post('/v1/logs/a', '2')
  await until(() => waiting.values.length === 3)
  t.deepEqual(waiting.values, [0, 1, 2])
  t.equal(waiting.marks[0].id, '-1', 'it has an id from the beginning')
  t.deepEqual(other.values, [])
  t.equal((await rawRequest(url, { path: '/v1/logs/other' })).status, 404, 'a reader that is not live is told')
  await server.close()
  await Promise.all([waiting.done, other.done])
})

tape('live: a request waits until another server has given the folder back', async (t) => {
  const { url: old, post, server, folder } = await serve(t)
  await post('/v1/logs/a', '0')
  const second = createIngest({ folder, port: 0 })
  t.teardown(() => second.close())
  const url = await second.listen()
  const streams = ['?gt=-1', ''].map((query) => listenIn(t, url, { query }))
  const left = listenIn(t, url)
  await until(() => [...streams, left].every(({ status }) => status === 200))
  left.abort.abort()
  await clientOf(old).post('/v1/logs/a', '1')
  await server.close()
  await second.ready()
  await clientOf(url).post('/v1/logs/a', '2')
  await until(() => streams[0].values.length === 3 && streams[1].values.length === 1)
  t.deepEqual(streams.map(({ values }) => values), [[0, 1, 2], [2]])
})

tape('live: a waiting request ends with its server', async (t) => {
  const { url, folder, server } = await serve(t)
  const second = createIngest({ folder, port: 0 })
  const waiting = [listen(url), listen(await second.listen())]
  await until(() => waiting.every(({ status }) => status === 200))
  await second.close()
  await server.close()
  await Promise.all(waiting.map(({ done }) => done))
  t.ok(waiting.every(({ isEnded }) => isEnded))
})

tape('live: one that is cut off before its first event comes back to where it was', async (t) => {
  const { url, post } = await serve(t)
  await post('/v1/logs/a', '"before"')
  const first = listen(url)
  await until(() => first.isPlaced)
  first.abort.abort()
  await post('/v1/logs/a', '[1,2]')
  const second = listenIn(t, url, { lastId: first.marks[0].id })
  await until(() => second.values.length === 2)
  t.deepEqual(second.values, [1, 2])
})

tape('live: the id moves on though nothing matches, so what is dropped then is no gap', async (t) => {
  const options = { limits: { heartbeatMs: 50 }, log: { segmentSize: 10_000, maxCount: 2 } }
  const { url, post, read } = await serve(t, options)
  const query = `?where=${encodeURIComponent('{"path":"rare","equals":true}')}`
  await post('/v1/logs/a', '{"n":-1}')
  const first = listen(url, { query })
  await until(() => first.isPlaced)
  await post('/v1/logs/a', '{"rare":true,"n":0}')
  let last
  for (let n = 1; n < 60; n++) last = (await post('/v1/logs/a', JSON.stringify({ n, x: 'x'.repeat(2000) }))).body.last
  await until(() => seqOf(first.marks.at(-1)) === last)
  first.abort.abort()
  await until(async () => (await read('/v1/logs/a?limit=1')).records[0].value.n > 0)
  const second = listenIn(t, url, { query, lastId: first.marks.at(-1).id })
  await until(() => second.isPlaced)
  await post('/v1/logs/a', '{"rare":true,"n":60}')
  await until(() => second.values.length === 1)
  t.deepEqual([second.status, second.marks[0].event, second.values[0].n], [200, 'cursor', 60])
})

tape('live: what was dropped is said, and the stream goes on', async (t) => {
  const { url, post, readAll } = await serve(t, { log: { segmentSize: 10_000, maxCount: 2 } })
  const { last: lastId } = (await post('/v1/logs/a', '"old"')).body
  for (let n = 0; n < 60; n++) await post('/v1/logs/a', JSON.stringify({ n, x: 'x'.repeat(2000) }))
  let left
  await until(async () => {
    left = await readAll('/v1/logs/a')
    return left[0].value !== 'old'
  })
  for (const options of [{ lastId: String(lastId) }, { query: `?gt=${lastId}` }]) {
    const stream = listenIn(t, url, options)
    await until(() => stream.values.at(-1)?.n === 59)
    t.deepEqual([stream.marks[0].event, stream.marks[0].id], ['gone', String(lastId)])
    // More may have been dropped meanwhile, also between two segments that it read.
    const got = stream.values.map(({ n }) => n)
    const kept = (await readAll('/v1/logs/a')).map(({ value }) => value.n)
    const seen = new Set(got)
    t.deepEqual(got, left.map(({ value }) => value.n).filter((n) => seen.has(n)), 'in order, each once')
    t.deepEqual(kept.filter((n) => !seen.has(n)), [], 'all that is left')
  }
})

tape('live: the last record that a client has is deleted, and the log opened again: that is no gap', async (t) => {
  const { post, server, folder } = await serve(t)
  const { last } = (await post('/v1/logs/a', '[0,1]')).body
  await server.close()
  const log = SegmentedLog(path.join(folder, 'log-a'), { codec: recordCodec })
  await log.del(last)
  await log.close()
  const again = await serve(t, { folder })
  const [known, beyond] = [last, last + 1].map((id) => listenIn(t, again.url, { lastId: String(id) }))
  await until(() => known.isPlaced && beyond.isPlaced)
  t.deepEqual([known.marks[0].event, known.marks[0].id], ['cursor', String(last)])
  t.equal(beyond.marks[0].event, 'gone')
  await again.post('/v1/logs/a', '2')
  await until(() => known.values.length > 0 && beyond.values.length > 0)
  t.deepEqual([known.values, beyond.values], [[2], [2]])
})

tape('live: ids that are not ours end no stream', async (t) => {
  const { url, post } = await serve(t)
  const { last } = (await post('/v1/logs/a', '0')).body
  const foreign = ['abc', '-5', '1e400', '99999999999999999999', '1.5', '0x10', 'null', '-1,5', String(last + 1),
    '9007199254740991', 'ü', '"5"']
  const ours = ['', '-1', String(last)]
  const streams = [...foreign, ...ours].map((lastId) => listenIn(t, url, { lastId: encodeURI(lastId) }))
  await until(() => streams.every(({ isPlaced }) => isPlaced))
  await post('/v1/logs/a', '1')
  await until(() => streams.every(({ values }) => values.includes(1)))
  for (const [index, id] of [...foreign, ...ours].entries()) {
    const { marks, values } = streams[index]
    t.equal(marks[0].event, ours.includes(id) ? 'cursor' : 'gone', JSON.stringify(id))
    t.deepEqual(values, id === '-1' ? [0, 1] : [1])
  }
  const { status } = await rawRequest(url, { path: '/v1/logs/a', headers: { 'last-event-id': 'abc' } })
  t.equal(status, 200, 'a reader that is not live does not care')
})

tape('live: what comes back is sent back; what is wrong is refused', async (t) => {
  const { url, post, server } = await serve(t, { limits: { liveReaders: 1 }, rate: { count: 8, windowMs: 60_000 } })
  await post('/v1/logs/a', '0')
  const first = listen(url)
  await until(() => first.isPlaced)
  const crowded = listen(url)
  await crowded.done
  t.deepEqual([crowded.status, crowded.isEnded, crowded.blocks[0].retry], [200, true, '2000'], 'there is no place')
  t.equal(crowded.marks[0].id, first.marks[0].id, 'it comes back to where it would have begun')
  const resumed = listen(url, { lastId: '5' })
  await resumed.done
  t.deepEqual(resumed.marks, [], 'or to where it was')
  t.equal((await rawRequest(url, { path: '/v1/logs/a?where=x', headers: EVENTS })).status, 400)
  t.equal((await rawRequest(url, { path: '/v1/logs/A', headers: EVENTS })).status, 400)
  const head = await rawRequest(url, { path: '/v1/logs/a', method: 'HEAD', headers: EVENTS })
  t.deepEqual([head.status, head.headers['content-type']], [200, 'text/event-stream; charset=utf-8'])
  first.abort.abort()
  await rawRequest(url, { path: '/v1/logs' })
  const hasty = listen(url)
  await hasty.done
  t.deepEqual([hasty.status, Number(hasty.blocks[0].retry) > 2000], [200, true], 'too many requests')
  t.equal((await rawRequest(url, { path: '/v1/logs/a' })).status, 429, 'a reader that is not live is told')
  await server.close()
})

tape('live: a stream ends when keys become necessary', async (t) => {
  const { url, post, folder } = await serve(t)
  await post('/v1/logs/a', '0')
  const streams = [listen(url), listen(url, { path: '/v1/logs/none' })]
  await until(() => streams.every(({ status }) => status === 200))
  await createKey(path.join(folder, 'keys.json'), { scopes: ['write:*'] })
  await Promise.all(streams.map(({ done }) => done))
  t.ok(streams.every(({ isEnded }) => isEnded), 'who was let in without a key has none')
})

tape('keys: a revoked key ends its streams, its reads and its writes, and no others', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const scopes = ['read:*', 'write:*']
  const [one, other] = [await createKey(file, { scopes }), await createKey(file, { scopes })]
  const { url, post } = await serve(t, { folder })
  const bearer = ({ secret }) => ({ authorization: `Bearer ${secret}` })
  await post('/v1/logs/a', '0', bearer(one))
  const streams = [[one, 'a'], [one, 'none'], [other, 'a']].map(([key, name]) => {
    return listenIn(t, url, { headers: bearer(key), path: `/v1/logs/${name}` })
  })
  await until(() => streams.every(({ status }) => status === 200))
  // A body that has not come yet.
  const socket = net.connect(new URL(url).port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => { answer += data })
  socket.write('POST /v1/logs/a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n' +
    `Authorization: Bearer ${one.secret}\r\n\r\n1`)
  await until(() => socket.bytesWritten > 0 && !socket.pending)
  await post('/v1/logs/a', '"until the server has read it"', bearer(other))
  await revokeKey(file, one.key.id)
  await Promise.all(streams.slice(0, 2).map(({ done }) => done))
  socket.write('1')
  await until(() => answer !== '')
  t.match(answer, /^HTTP\/1.1 401 /, 'what comes later is not stored')
  socket.destroy()
  t.equal((await rawRequest(url, { path: '/v1/logs/a', headers: { ...EVENTS, ...bearer(one) } })).status, 401)
  await post('/v1/logs/a', '2', bearer(other))
  await until(() => streams[2].values.includes(2))
  t.notOk(streams[2].isEnded)
})

tape('stop: neither live readers nor silent connections keep a server', async (t) => {
  // So long a request that is under way may take: longer than this test.
  const { url, post, server } = await serve(t, { graceMs: 2 ** 31 - 1 })
  await post('/v1/logs/a', '0')
  const { port } = new URL(url)
  const head = 'Host: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n'
  const requests = ['', `GET /v1/logs/a HTTP/1.1\r\n${head}`, `GET /v1/logs/none HTTP/1.1\r\n${head}`,
    'GET /v1/logs/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', `GET /v1/logs/a HTTP/1.0\r\n${head}`]
  const sockets = requests.map((bytes) => {
    const socket = net.connect(port, '127.0.0.1').on('error', () => {})
    socket.write(bytes)
    return socket
  })
  await Promise.all(sockets.slice(1).map((socket) => new Promise((resolve) => socket.once('data', resolve))))
  sockets.forEach((socket) => socket.resume())
  await server.close()
  t.pass('it has ended')
})

tape('live: an id of a log of lines names the record, and after the file was written anew the client gets all of it', async (t) => {
  const options = { log: { framing: 'lines' } }
  const first = await serve(t, options)
  const { folder } = first
  await first.post('/v1/logs/a', '[10,11,12]')
  const stream = listenIn(t, first.url, { query: '?gt=-1' })
  await until(() => stream.values.length === 3)
  const { id } = stream.blocks.findLast(({ data }) => data)
  t.match(id, /^\d+-[0-9a-f]{8}$/)
  await first.server.close()
  const [name] = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.jsonl'))
  const file = path.join(folder, name)

  const second = await serve(t, { folder, ...options })
  const same = listenIn(t, second.url, { lastId: id })
  await until(() => same.isPlaced || same.isEnded)
  t.deepEqual(same.marks.map(({ event, id }) => [event, id]), [['cursor', id]], 'it goes on where it was')
  await second.post('/v1/logs/a', '13')
  await until(() => same.values.length === 1)
  t.deepEqual(same.values, [13])
  await second.server.close()

  // All seqs are those of lines again.
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(/"value":1/g, '"value":2'))
  const third = await serve(t, { folder, ...options })
  for (const lastId of [id, same.blocks.findLast(({ data }) => data).id]) {
    const other = listenIn(t, third.url, { lastId })
    await until(() => other.values.length === 4)
    t.deepEqual(other.values, [20, 21, 22, 23])
    t.deepEqual(other.marks.map(({ event, id }) => [event, id]), [['gone', '-1']])
  }
  await third.server.close()

  // Shorter than what the client has seen.
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').split('\n').slice(2).join('\n'))
  const fourth = await serve(t, { folder, ...options })
  const other = listenIn(t, fourth.url, { lastId: id })
  await until(() => other.values.length === 2)
  t.deepEqual(other.values, [22, 23])
})

tape('live: an older copy of the log is restored and grows past what a client has seen: it is told, and misses nothing', async (t) => {
  // Of one size, the new records have the seqs of the old ones; of another one, the id leads to no record.
  for (const [title, size] of [['the same seqs', 1], ['other seqs', 1.5]]) {
    const first = await serve(t)
    const { folder } = first
    const [log, copy] = [path.join(folder, 'log-a'), path.join(temporaryFolder(), 'copy')]
    await first.post('/v1/logs/a', '"kept"')
    await first.server.close()
    fs.cpSync(log, copy, { recursive: true })

    const second = await serve(t, { folder })
    const all = listenIn(t, second.url, { query: '?gt=-1' })
    for (let n = 0; n < 3; n++) await second.post('/v1/logs/a', JSON.stringify(`lost${'x'.repeat(100)}`))
    await until(() => all.values.length === 4)
    const placed = listenIn(t, second.url, { query: `?where=${encodeURIComponent('{"path":"rare","equals":true}')}` })
    await until(() => placed.isPlaced)
    await second.server.close()
    const seen = [all.blocks.findLast(({ data }) => data), placed.marks[0]]
    fs.rmSync(log, { recursive: true })
    fs.cpSync(copy, log, { recursive: true })

    const third = await serve(t, { folder })
    for (let n = 0; n < 3; n++) await third.post('/v1/logs/a', JSON.stringify(`new!${'y'.repeat(100 * size)}`))
    t.ok((await third.readAll('/v1/logs/a')).at(-1).seq >= seqOf(seen[0]), `${title}: the log has grown so far`)
    for (const { id } of seen) {
      const stream = listenIn(t, third.url, { lastId: id })
      await until(() => stream.isPlaced)
      t.equal(stream.marks[0].event, 'gone', title)
      await until(() => stream.values.length === 4 || stream.marks[0].event !== 'gone')
      t.deepEqual(stream.values.map((value) => value.slice(0, 4)), ['kept', 'new!', 'new!', 'new!'], title)
    }
    await third.server.close()
  }
})
