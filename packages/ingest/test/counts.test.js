'use strict'
// Counts of events: what they are, that they equal the log and what was dropped from it, and that they can be made
// again.

const fs = require('node:fs')
const path = require('node:path')
const { crc32 } = require('node:zlib')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, createRandom, failureOf, inQuickRuns, temporaryFolder, until } = require('@millrace/testkit')
const { createKey } = require('..')
const { Counter } = require('../lib/counts/counter')
const { recordCodec } = require('../lib/record')
const { CountsStory } = require('./counts-story')
const { encodeRecords, serve, startProcess } = require('./helpers')

const today = () => new Date().toISOString().slice(0, 10)
const parse = (text) => text.trimEnd().split('\n').map((line) => JSON.parse(line))
const send = ({ ask }, source, event, query = '') => ask(`/v1/se/${source}/${event}${query}`, { method: 'PUT' })

/** The counts by `source/event` of all days together. */
async function countsOf ({ ask }, query = '') {
  const { status, text, body } = await ask(`/v1/se/counts${query}`)
  if (status !== 200) return [status, body.code]
  const lines = parse(text)
  if (lines.at(-1).end?.reason !== 'end') return [status, lines.at(-1)]
  const counts = {}
  for (const { source, event, count } of lines.slice(0, -1)) counts[`${source}/${event}`] = (counts[`${source}/${event}`] ?? 0) + count
  return counts
}

tape('counts: by source, event and day, of requests without a body and of batches', async (t) => {
  const server = await serve(t)
  const { ask, post } = server
  t.deepEqual(parse((await ask('/v1/se/counts')).text), [{ end: { reason: 'end' } }], 'before the first event')
  t.deepEqual((await ask('/v1/se/counts', { method: 'POST' })).body, { from: null, events: 0, incomplete: null })
  await send(server, 'door', 'open')
  await send(server, 'door', 'open', '?ack=synced&key=who&value=ada')
  await send(server, 'door', 'close')
  const batch = [{ source: 'door', event: 'open' }, { source: 'd\u0000', event: '__proto__', more: 1 }, { source: 'door' }, 7, null]
  await post('/v1/logs/se', JSON.stringify(batch), { 'idempotency-key': 'k' })
  await post('/v1/logs/se', JSON.stringify(batch), { 'idempotency-key': 'k' })
  await post('/v1/logs/other', JSON.stringify(batch))
  const { headers, text } = await ask('/v1/se/counts')
  t.match(headers.get('content-type'), /x-ndjson/)
  const day = today()
  t.deepEqual(parse(text), [
    { day, source: 'd\u0000', event: '__proto__', count: 1 },
    { day, source: 'door', event: 'close', count: 1 },
    { day, source: 'door', event: 'open', count: 3 },
    { end: { reason: 'end' } }
  ])
  t.deepEqual(await countsOf(server, '?source=door&event=close'), { 'door/close': 1 })
  t.deepEqual(await countsOf(server, `?since=${day}&until=${day}&event=open`), { 'door/open': 3 })
  t.deepEqual(await countsOf(server, '?until=2020-01-01'), {})
  for (const query of ['since=yesterday', 'until=2026-02-30', 'source=', 'source=a&source=b']) {
    t.equal((await ask(`/v1/se/counts?${query}`)).status, 400, query)
  }
})

tape('counts: a day has so many different events; more are refused, known ones are not', async (t) => {
  const server = await serve(t, { limits: { eventsPerDay: 3 } })
  for (const event of ['a', 'b', 'a']) await send(server, 's', event)
  const { status, body } = await server.post('/v1/logs/se', '[{"source":"s","event":"a"},{"source":"s","event":"c"},{"source":"s","event":"d"}]')
  t.deepEqual([status, body.code], [403, 'too_many_events'])
  t.match(body.detail, /3 different events/)
  t.equal((await send(server, 's', 'c')).status, 200, 'a batch that was refused takes no place')
  t.equal((await send(server, 's', 'd')).status, 403)
  t.equal((await send(server, 's', 'a')).status, 200)
  t.equal((await server.post('/v1/logs/se', '{"no":"event"}')).status, 200)
  t.deepEqual(await countsOf(server), { 's/a': 3, 's/b': 1, 's/c': 1 })
})

tape('counts: they equal the log and what was dropped, after kills, power cuts and failed syncs', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  const random = createRandom(seed)
  for (let i = 0; i < inQuickRuns(120); i++) {
    const own = random(1e9)
    const story = new CountsStory(own)
    for (let life = 0; life < 4 && story.failures.length === 0; life++) await story.live()
    if (story.failures.length > 0) return t.fail(`seed ${seed}, story ${own}: ${story.failures.slice(0, 3).join('; ')}`)
  }
  t.pass(`seed ${seed}`)
})

tape('counts: they are exact after a kill or a power cut before any change of a file', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 1e9)
  const random = createRandom(seed)
  for (let i = 0; i < inQuickRuns(24); i++) {
    const own = random(1e9)
    const story = new CountsStory(own, 3)
    for (let life = 0; life < 3 && story.failures.length === 0; life++) await story.live()
    if (story.failures.length > 0) return t.fail(`seed ${seed}, story ${own}: ${story.failures.slice(0, 3).join('; ')}`)
  }
  t.pass(`seed ${seed}`)
})

tape('counts: who may read them, and who may count again', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'keys.json')
  const bearers = {}
  for (const scope of ['read:se', 'write:se', 'write:*', 'read:x']) {
    bearers[scope] = { authorization: `Bearer ${(await createKey(file, { scopes: [scope] })).secret}` }
  }
  const { ask } = await serve(t, { folder })
  const status = async (scope, method) => (await ask('/v1/se/counts', { method, headers: bearers[scope] })).status
  t.deepEqual([await status('read:se', 'GET'), await status('write:se', 'GET'), await status('read:x', 'GET')], [200, 403, 403])
  t.deepEqual([await status('write:*', 'POST'), await status('write:se', 'POST'), await status('read:se', 'POST')], [200, 403, 403])
})

/** A folder of a server that had these events, and a change of its files. */
async function changedFolder (t, change, options) {
  const folder = temporaryFolder()
  const server = await serve(t, { folder, ...options })
  await send(server, 's', 'a')
  await send(server, 's', 'b')
  await server.server.close()
  await change(folder)
  return serve(t, { folder, ...options })
}

tape('counts: if their file is damaged, they are refused until they are counted again', async (t) => {
  const server = await changedFolder(t, (folder) => {
    const file = path.join(folder, 'counts', 'now.json')
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('"a"', '"b"'))
  })
  t.equal((await send(server, 's', 'a')).status, 200, 'events are taken')
  t.deepEqual(await countsOf(server), [503, 'counts_stale'])
  t.match((await server.ask('/v1/se/counts')).body.detail, /damaged/)
  t.ok(server.reports.some(({ err }) => /damaged/.test(err.message)), 'it is reported')
  const { body } = await server.ask('/v1/se/counts', { method: 'POST' })
  t.deepEqual(body, { from: today(), events: 3, incomplete: null })
  t.deepEqual(await countsOf(server), { 's/a': 2, 's/b': 1 })
  await send(server, 's', 'a')
  t.deepEqual(await countsOf(server), { 's/a': 3, 's/b': 1 })
})

tape('counts: of a log that is not the one that was counted they are refused too', async (t) => {
  const server = await changedFolder(t, (folder) => fs.rmSync(path.join(folder, 'log-se'), { recursive: true }))
  await send(server, 's', 'c')
  t.deepEqual(await countsOf(server), [503, 'counts_stale'])
  t.match((await server.ask('/v1/se/counts')).body.detail, /another log/)
  await server.ask('/v1/se/counts', { method: 'POST' })
  t.deepEqual(await countsOf(server), { 's/c': 1 })
})

tape('counts: an older copy of the log stays stale after it has outgrown what was counted', async (t) => {
  const folder = temporaryFolder()
  const [log, copy] = ['log-se', 'copy'].map((name) => path.join(folder, name))
  const append = async (server, events) => { for (const event of events) await send(server, 's', event) }
  const first = await serve(t, { folder })
  await append(first, 'ab')
  await first.server.close()
  fs.cpSync(log, copy, { recursive: true })
  const second = await serve(t, { folder })
  await append(second, 'cd')
  await second.server.close()
  fs.rmSync(log, { recursive: true })
  fs.renameSync(copy, log)
  const restored = await serve(t, { folder })
  await append(restored, 'xyz')
  t.deepEqual(await countsOf(restored), [503, 'counts_stale'])
  await restored.server.close()
  const last = await serve(t, { folder })
  t.deepEqual(await countsOf(last), [503, 'counts_stale'], 'also now that the log has more records than were counted')
  await last.ask('/v1/se/counts', { method: 'POST' })
  t.deepEqual(await countsOf(last), { 's/a': 1, 's/b': 1, 's/x': 1, 's/y': 1, 's/z': 1 })
})

tape('counts: a file from before it had proofs of its place is taken', async (t) => {
  const server = await changedFolder(t, (folder) => {
    const file = path.join(folder, 'counts', 'now.json')
    const json = fs.readFileSync(file, 'utf8').trim().replace(/^[^{]*/, '').replace(/,"points":\[\[.*?\]\]/, '')
    fs.writeFileSync(file, `millrace-counts 1 ${crc32(json).toString(16).padStart(8, '0')} ${json}\n`)
  })
  await send(server, 's', 'a')
  t.deepEqual(await countsOf(server), { 's/a': 2, 's/b': 1 })
})

tape('counts: a folder from before there were counts is counted when it is opened', async (t) => {
  const server = await changedFolder(t, (folder) => fs.rmSync(path.join(folder, 'counts'), { recursive: true }))
  t.deepEqual(await countsOf(server), { 's/a': 1, 's/b': 1 })
})

tape('counts: a quota drops no event that is not counted; a day that was dropped in part keeps its counts', async (t) => {
  const log = { maxSize: 1024 * 1024, segmentSize: 100_000 }
  const folder = temporaryFolder()
  const server = await serve(t, { folder, log })
  const batch = JSON.stringify(Array.from({ length: 100 }, (_, n) => ({ source: 's', event: `e${n % 7}`, text: 'x'.repeat(900) })))
  let sent = 0
  for (let round = 0; round < 60; round++) if ((await server.post('/v1/logs/se', batch)).status === 200) sent++
  const expected = {}
  for (let n = 0; n < 100; n++) expected[`s/e${n % 7}`] = (expected[`s/e${n % 7}`] ?? 0) + sent
  t.deepEqual(await countsOf(server), expected, `${sent} of 60 batches were stored`)
  const records = await server.readAll('/v1/logs/se')
  t.ok(records.length < sent * 100, `${records.length} of ${sent * 100} records are left`)
  const { body } = await server.ask('/v1/se/counts', { method: 'POST' })
  t.ok(body.from > today() && body.incomplete === null, `the day is kept: ${JSON.stringify(body)}`)
  t.deepEqual(await countsOf(server), expected)
  await server.server.close()
  fs.rmSync(path.join(folder, 'counts', 'now.json'))
  fs.writeFileSync(path.join(folder, 'counts', '2020-01-01.json'), '')
  const again = await serve(t, { folder, log })
  t.deepEqual(await countsOf(again), [503, 'counts_stale'])
  const { body: lost } = await again.ask('/v1/se/counts', { method: 'POST' })
  t.deepEqual([lost.from, lost.incomplete], [today(), today()], 'what cannot be known is said')
  t.ok(lost.events <= records.length)
})

/** A log of 1 MiB and the counter of its events. */
async function openCounter (t, folder = temporaryFolder(), storage = fileStorage, ofLog = {}) {
  const log = SegmentedLog(path.join(folder, 'log'), { codec: recordCodec, maxSize: 1024 * 1024, segmentSize: 100_000, ...ofLog })
  const counter = new Counter(log, {
    storage, folder: path.join(folder, 'counts'), eventsPerDay: 10, unsavedSize: 250_000, onFailure: t.error
  })
  await counter.open()
  await counter.catchUp()
  return { folder, log, counter }
}

tape('counts: a log whose records were all deleted can be counted again', async (t) => {
  const { log, counter } = await openCounter(t)
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  const events = counter.admit(Date.now(), ['s', 'e'])
  const seq = await log.append(record)
  counter.written(events, record.length, null, seq)
  await log.del(seq)
  t.ok(log.since.value >= seq, 'since does not fall')
  t.deepEqual(await counter.recount(), { from: null, events: 0, incomplete: null })
  await counter.close()
  await log.close()
})

tape('counts: they fit a log that was opened again after its last records were deleted', async (t) => {
  const { folder, log, counter } = await openCounter(t)
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  for (let count = 1; count <= 3; count++) {
    const events = counter.admit(Date.now(), ['s', 'e'])
    counter.written(events, record.length, null, await log.append(record))
  }
  const end = log.since.value
  await counter.close()
  await log.del(end)
  await log.close()
  // It fails the test if the counts do not fit.
  const again = await openCounter(t, folder)
  t.ok(again.log.since.value < end, 'since has fallen')
  await again.counter.close()
  await again.log.close()
})

tape('counts: they are told, and made again, beside events that come all the time (counts-wait-for-a-pause)', async (t) => {
  // Of a real disk, one of these calls may take as long as many reads.
  const { storage } = new SimulatedDisk()
  const { log, counter } = await openCounter(t, '/folder', storage, { storage })
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  const total = async () => {
    const days = await Promise.all(counter.listDays().map((day) => counter.readDay(day)))
    return days.reduce((sum, day) => sum + day[0][2], 0)
  }
  let sent = 0
  let written = 0
  let readCount = 0
  let isOver = false
  let sending = Promise.resolve()
  const send = () => {
    sent++
    const events = counter.admit(Date.now(), ['s', 'e'])
    sending = log.append(record).then((seq) => {
      counter.written(events, record.length, null, seq)
      written++
    })
    return sending
  }
  for (let n = 0; n < 5; n++) await send()
  // Whenever somebody has read to the end, there is one more.
  const { stream } = log
  log.stream = async function * (options) {
    yield * stream.call(log, options)
    readCount++
    if (!isOver) await send()
  }
  const calls = { recount: () => counter.recount(), counts: () => counter.catchUp() }
  for (const what of ['recount', 'counts', 'recount', 'recount', 'counts']) {
    let isDone = false
    const before = written
    const readsBefore = readCount
    calls[what]().then(() => { isDone = true }, t.error)
    await until(() => isDone || readCount > readsBefore + 1000)
    t.ok(isDone, `${what}, after ${readCount - readsBefore} reads`)
    t.ok(await total() >= before, 'what there was is counted')
  }
  isOver = true
  await sending
  await counter.catchUp()
  t.equal(await total(), sent)
  t.deepEqual((await counter.recount()).events, sent)
  t.equal(await total(), sent)
  await counter.close()
  await log.close()
})

tape('counts: an event that others can read is counted, also before its append has called back, and once', async (t) => {
  const { storage } = new SimulatedDisk()
  const { log, counter } = await openCounter(t, '/folder', storage, { storage })
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  const count = async () => {
    await counter.catchUp()
    const [day] = counter.listDays()
    return day === undefined ? 0 : (await counter.readDay(day))[0][2]
  }
  for (let n = 1; n <= 5; n++) {
    const [first, second] = [1, 2].map(() => counter.admit(Date.now(), ['s', 'e']))
    const seqs = [await log.append(record), await log.append(record)]
    if (n % 2 === 0) counter.written(first, record.length, null, seqs[0])
    t.equal(await count(), 2 * n)
    if (n % 2 === 1) counter.written(first, record.length, null, seqs[0])
    counter.written(second, record.length, null, seqs[1])
    t.equal(await count(), 2 * n, 'and once')
  }
  await counter.close()
  await log.close()
})

tape('counts: who waits for them when they are closed hears of it', async (t) => {
  const { storage } = new SimulatedDisk()
  const { log, counter } = await openCounter(t, '/folder', storage, { storage })
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  await log.append([record, record])
  const { stream } = log
  let closing = null
  log.stream = function (options) {
    closing ??= counter.close()
    return stream.call(log, options)
  }
  const err = await failureOf(() => counter.catchUp())
  t.ok(closing, 'closed while they were read')
  t.equal(err?.statusCode, 503, 'not all events are counted')
  t.equal((await failureOf(() => counter.catchUp()))?.statusCode, 503)
  await closing
  await log.close()
})

tape('counts: what was counted again while the counts before were being saved is saved, too', async (t) => {
  let release = null
  const storage = { ...fileStorage, rename: (from, to, cb) => { release = () => fileStorage.rename(from, to, cb) } }
  const folder = temporaryFolder()
  const { log, counter } = await openCounter(t, folder, storage)
  const [record] = encodeRecords(Date.now(), [JSON.stringify({ source: 's', event: 'e' })], null)
  const seqs = []
  for (let count = 0; count < 2; count++) {
    const events = counter.admit(Date.now(), ['s', 'e'])
    seqs.push(await log.append(record))
    counter.written(events, record.length, null, seqs[count])
  }
  const total = async () => (await counter.readDay(counter.listDays()[0]))[0][2]
  const saving = counter.save()
  await until(() => release !== null)
  await log.del(seqs[0])
  const counting = counter.recount()
  await until(async () => await total() === 1)
  storage.rename = fileStorage.rename
  release()
  await Promise.all([saving, counting])
  await counter.close()
  await log.close()
  const again = await openCounter(t, folder)
  t.deepEqual((await again.counter.readDay(again.counter.listDays()[0])).map(([,, count]) => count), [1])
  await again.counter.close()
  await again.log.close()
})

/** A full log whose quota drops everything it has at one moment of a recount, again and again. */
async function recountWhileDropped (t, { hasDropped, moment, times }) {
  const { log, counter } = await openCounter(t)
  const text = JSON.stringify({ source: 's', event: 'e', pad: 'x'.repeat(900) })
  let sent = 0
  const append = async () => {
    const events = counter.admit(Date.now(), new Array(100).fill(['s', 'e']).flat())
    counter.written(events, 100_000, null, await log.append(encodeRecords(Date.now(), new Array(100).fill(text), null)))
    if (!counter.hasRoom) await counter.save()
    sent += 100
  }
  const { first, stream } = log
  const dropAll = async () => {
    const last = log.since.value
    while ((await first.call(log, {})).seq <= last) await append()
  }
  for (let count = 0; count < 5; count++) await append()
  if (hasDropped) await dropAll()
  let left = times
  const pass = async (here) => { if (here === moment && left-- > 0) await dropAll() }
  log.first = async (options) => {
    await pass('before the first')
    const found = await first.call(log, options)
    await pass('behind the first')
    return found
  }
  log.stream = async function * (options) {
    await pass('at the stream')
    let count = 0
    for await (const item of stream.call(log, options)) {
      if (++count === 5) await pass('in the stream')
      yield item
    }
  }
  const outcome = await counter.recount().catch((err) => err)
  left = 0
  let counted = 0
  for (const day of counter.listDays()) for (const [,, count] of await counter.readDay(day)) counted += count
  await counter.close()
  await log.close()
  return { outcome, counted, sent }
}

tape('counts: if records are dropped while all is counted again, that begins again; no count is lost', async (t) => {
  for (const hasDropped of [false, true]) {
    for (const moment of ['before the first', 'behind the first', 'at the stream', 'in the stream']) {
      for (const times of [1, Infinity]) {
        const title = `${moment}, ${times} times, ${hasDropped ? 'not ' : ''}the first that are dropped`
        const day = today()
        const { outcome, counted, sent } = await recountWhileDropped(t, { hasDropped, moment, times })
        t.equal(counted, sent, title)
        if (outcome instanceof Error) t.ok(times === Infinity && outcome.statusCode === 503, `${title}: ${outcome.message}`)
        else t.ok(outcome.from > day && outcome.incomplete === null, `${title}: ${JSON.stringify(outcome)}`)
      }
    }
  }
})

tape('counts: a server that is killed under load counts what its log has and had', async (t) => {
  const folder = temporaryFolder()
  const log = { maxSize: 1024 * 1024, segmentSize: 60_000 }
  const expected = {}
  let last = -1
  const rounds = Number(process.env.MILLRACE_KILLS ?? 4)
  for (let round = 0; round < rounds; round++) {
    const server = await startProcess(folder, { log, bufferMs: 20 })
    const progress = { sent: 0 }
    const run = async (n) => {
      for (let i = 0; ; i++) {
        const batch = JSON.stringify([{ source: `s${n}`, event: `e${i % 9}`, pad: 'x'.repeat(500) }, { source: 's', event: 'batch' }])
        const sending = i % 2 === 0 ? server.post('/v1/logs/se', batch) : send(server, `s${n}`, `e${i % 9}`, i % 3 === 0 ? '?ack=buffered' : '')
        if (await sending.then(() => false, () => true)) return
        progress.sent++
      }
    }
    const running = [0, 1, 2, 3].map(run)
    const enough = 200 + round * 10
    while (progress.sent < enough) await new Promise((resolve) => setTimeout(resolve, 5))
    server.child.kill('SIGKILL')
    await server.ended
    await Promise.all(running)
    // Read while nobody can drop it.
    const reader = SegmentedLog(path.join(folder, 'log-se'), { flags: 'r', codec: jsonCodec })
    for await (const { seq, value } of reader.stream({ gt: last })) {
      const name = `${value.value.source}/${value.value.event}`
      expected[name] = (expected[name] ?? 0) + 1
      last = seq
    }
    await reader.close()
  }
  const server = await serve(t, { folder, log })
  t.deepEqual(await countsOf(server), Object.fromEntries(Object.entries(expected).sort()))
  const total = Object.values(expected).reduce((sum, count) => sum + count, 0)
  const { body } = await server.ask('/v1/se/counts', { method: 'POST' })
  t.deepEqual(await countsOf(server), expected, `${total} events in ${rounds} kills; counted again: ${JSON.stringify(body)}`)
})
