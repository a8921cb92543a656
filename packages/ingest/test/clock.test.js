'use strict'
// Times of receipt, `since` and `until`, idempotency keys and counts under clocks that are wrong for a while, each
// against an oracle that reads everything.

const path = require('node:path')
const tape = require('tape')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, failureOf, fakeWallClock, inQuickRuns, temporaryFolder } = require('@millrace/testkit')
const { createIngest } = require('..')
const { Idempotency } = require('../lib/idempotency')
const { recordCodec } = require('../lib/record')
const { clientOf } = require('./helpers')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const HOUR = 3_600_000
const DAY = 24 * HOUR
const T = Date.UTC(2026, 0, 10, 12)

/** Runs a server on a folder. */
async function session (folder, use, options = {}) {
  const server = createIngest({ port: 0, folder, ...options })
  const client = clientOf(await server.listen())
  await server.ready()
  try {
    return await use(client)
  } finally {
    await server.close()
  }
}

tape('clock: since finds every record after a boot with a wrong clock', async (t) => {
  for (const wrong of ['1970-01-01T00:00:09Z', '2000-01-01T00:00:00Z', T - 20 * DAY, T + 30 * 60_000, '2036-01-01T00:00:00Z']) {
    const folder = temporaryFolder()
    const clock = fakeWallClock(t, T)
    for (const [ms, n] of [[T, 0], [T + HOUR, 1], [wrong, 2], [T + 1.5 * HOUR, 3]]) {
      clock.set(ms)
      await session(folder, ({ post }) => post('/v1/logs/e', JSON.stringify({ n })))
    }
    const query = `since=${T + HOUR / 2}`
    const [all, found] = await session(folder, async ({ read }) => [await read('/v1/logs/e'), await read(`/v1/logs/e?${query}`)])
    const wanted = all.records.filter(({ time }) => time >= T + HOUR / 2)
    t.deepEqual(found.records, wanted)
    t.equal(all.records[3].time, T + 1.5 * HOUR, 'a clock that is right again is believed')
  }
})

tape('clock: times fall only where a segment begins, also if requests come all the time', async (t) => {
  const clock = fakeWallClock(t, T + 365 * DAY)
  const folder = temporaryFolder()
  await session(folder, async ({ post, read }) => {
    const send = (n) => post('/v1/logs/a', JSON.stringify([{ n }, { n }]))
    await Promise.all([1, 2, 3].map(send))
    clock.set(T)
    await Promise.all(Array.from({ length: 30 }, (_, n) => send(n)))
    const { records } = await read('/v1/logs/a')
    t.equal(records.length, 66)
    t.deepEqual(records.map(({ time }) => time), [...Array(6).fill(T + 365 * DAY), ...Array(60).fill(T)])
    t.equal((await read(`/v1/logs/a?until=${T}`)).records.length, 60)
    t.equal((await read(`/v1/logs/a?since=${T + DAY}`)).records.length, 6)
  })
})

tape('clock: an idempotent retry is stored once, whatever the clock says', async (t) => {
  const key = { 'idempotency-key': 'key-1', prefer: 'ack=synced' }
  for (const wrong of [9000, Date.UTC(2000, 0), T - DAY, T - 40 * DAY, T + 2 * DAY, T + 365 * DAY, T + 3650 * DAY]) {
    const folder = temporaryFolder()
    const clock = fakeWallClock(t, T)
    const post = (body, headers) => session(folder, ({ post }) => post('/v1/logs/orders', body, headers))
    const { body: { last } } = await post('{"order":1}', key)
    clock.set(wrong)
    t.equal((await post('{"order":1}', key)).body.last, last, `a retry at ${new Date(wrong).toISOString()}`)
    await post('{"order":2}', { 'idempotency-key': 'key-2' })
    clock.set(T + 60_000)
    t.equal((await post('{"order":1}', key)).body.last, last, 'and when the clock is right again')
    t.equal((await post('{"order":2}', { 'idempotency-key': 'key-2' })).headers.get('idempotency-replayed'), 'true')
  }
})

tape('clock: a key is known although a clock that was behind made the next segment', async (t) => {
  const folder = temporaryFolder()
  const clock = fakeWallClock(t, T)
  const options = { log: { segmentAge: 10 * DAY } }
  const post = (ms, n) => {
    clock.set(ms)
    const headers = { 'idempotency-key': `key-${n}` }
    return session(folder, ({ post }) => post('/v1/logs/a', JSON.stringify({ n }), headers), options)
  }
  await post(T, 0)
  await post(T + 20 * HOUR, 1)
  await post(T - 4 * HOUR, 2)
  t.equal((await post(T + 30 * HOUR, 1)).headers.get('idempotency-replayed'), 'true')
})

tape('clock: a key is known although the clock of its time and that of the next segment were behind', async (t) => {
  const clock = fakeWallClock(t, T)
  const folder = temporaryFolder()
  const options = { log: { segmentSize: 40_000 } }
  const post = async (ms, key, pad = 0) => {
    clock.set(ms)
    const headers = { 'idempotency-key': key, prefer: 'ack=written' }
    await session(folder, ({ post }) => post('/v1/logs/a', JSON.stringify('x'.repeat(pad)), headers), options)
  }
  await post(T, 'key-0')
  await post(T + 15 * HOUR, 'key-1')
  await post(5000, 'key-2', 45_000)
  const stored = T + 33 * HOUR
  await post(stored + HOUR - DAY, 'key-3', 45_000)
  await post(stored + 2 * HOUR, 'key-4', 45_000)
  await post(stored + 7 * HOUR, 'key-5')
  clock.set(stored + 14 * HOUR)
  const log = SegmentedLog(path.join(folder, 'log-a'), { codec: recordCodec, flags: 'r' })
  t.equal((await log.segments()).length, 4)
  // By times alone, as if each segment were large.
  const keys = new Idempotency({ count: 100, ageMs: DAY, readSizeMin: 0 })
  const reused = await failureOf(() => keys.begin({ name: 'a', log, periods: new Map() }, 'key-2', '', 'another body'))
  t.equal(reused?.code, 'key_reused', 'it is known')
  await log.close()
})

tape(`clock: reads, keys and counts are those of an oracle (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const [y2000, y2036] = [Date.UTC(2000, 0, 1), Date.UTC(2036, 0, 1)]
  const wrongs = [() => 5000, () => y2000, (ms) => ms - DAY, (ms) => ms + 365 * DAY, () => y2036, (ms) => ms - 5000,
    (ms) => ms - 2 * HOUR, (ms) => ms + random(90 * DAY)]
  for (let round = 0; round < inQuickRuns(12); round++) {
    const folder = temporaryFolder()
    const segmentSize = random(2) === 0 ? 2 ** 26 : 40_000
    const options = { limits: { scanMs: 60_000 }, log: { segmentSize, ...(random(2) === 0 && { segmentDay: 'UTC' }) } }
    let [ms, count] = [T, 0]
    const clock = fakeWallClock(t, ms)
    /** What was stored, and when in truth. */
    let keys = []
    for (let boot = 0; boot < 8; boot++) {
      const toClock = random(2) === 0 ? (ms) => ms : wrongs[random(wrongs.length)]
      await session(folder, async ({ ask, post, read }) => {
        for (let step = 0; step < 6; step++, ms += random(5) === 0 ? random(20 * HOUR) : random(60_000)) {
          clock.set((random(6) === 0 ? wrongs[random(wrongs.length)] : toClock)(ms))
          const n = count++
          const body = JSON.stringify([{ source: 's', event: `e${n % 3}` }, { n, pad: 'x'.repeat(random(9000)) }])
          const headers = { 'idempotency-key': `k${n}`, prefer: 'ack=written' }
          const { body: { last }, status } = await post('/v1/logs/se', body, headers)
          if (status !== 200) t.fail(`status ${status}`)
          keys.push({ body, last, headers, ms })
          keys = keys.filter((key) => ms - key.ms < DAY)
          const key = keys[random(keys.length)]
          const again = await post('/v1/logs/se', key.body, key.headers)
          if (again.body.last !== key.last) t.fail(`a retry of ${key.last} got ${again.body.last}`)
        }
        const { records } = await read('/v1/logs/se')
        if (records.length !== 2 * count) t.fail(`${records.length} records of ${2 * count}`)
        const times = records.map(({ time }) => time)
        for (let i = 0; i < 6; i++) {
          const [since, until] = [0, 0].map(() => times[random(times.length)] + random(3) - 1)
          const query = [`since=${since}`, `until=${until}`, `since=${since}&until=${until}`][i % 3]
          const isWanted = ({ time }) => (i % 3 === 1 || time >= since) && (i % 3 === 0 || time <= until)
          const expected = records.filter(isWanted)
          const found = (await read(`/v1/logs/se?${query}`)).records
          if (JSON.stringify(found) !== JSON.stringify(expected)) t.fail(`${query}: ${found.length} of ${expected.length}`)
        }
        const byDay = new Map()
        for (const { time, value: { source, event } } of records) {
          const row = JSON.stringify({ day: new Date(time).toISOString().slice(0, 10), source, event })
          if (event) byDay.set(row, (byDay.get(row) ?? 0) + 1)
        }
        const lines = (await ask('/v1/se/counts')).text.trim().split('\n').slice(0, -1).map((line) => JSON.parse(line))
        const counted = lines.map(({ count, ...row }) => [JSON.stringify(row), count])
        if (JSON.stringify(counted.sort()) !== JSON.stringify([...byDay].sort())) t.fail('counts differ')
      }, options)
    }
    t.pass(`round ${round}: ${count} batches`)
  }
})
