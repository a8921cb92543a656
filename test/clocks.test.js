'use strict'
// Every feature that uses time, under ten clocks, each against an oracle that reads everything and knows the true time.

const { execFile } = require('node:child_process')
const path = require('node:path')
const { promisify } = require('node:util')
const tape = require('tape')
const { Forwarder } = require('@millrace/forwarder')
const { createIngest } = require('@millrace/ingest')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { LogWriter, lines } = require('@millrace/log-writer')
const { MergedLog, SlotLog } = require('@millrace/merged-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, createRandom, fakeWallClock, isLongRun, newPath, stopClock, temporaryFolder, until } = require('@millrace/testkit')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
/** No rule is right for all jumps: a few in a row can look like a clock that is right. So their seed is fixed. */
const JUMPS_SEED = Number(process.env.MILLRACE_SEED) || 1
const COMMAND = path.join(__dirname, '../packages/millrace/bin/millrace.js')
const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Summer time ends in Berlin a week later. */
const T = Date.UTC(2026, 9, 18, 9)
const STEP = isLongRun ? HOUR : 4 * HOUR
const DAYS = 30
/** The clock is wrong from this day on. */
const BEGIN = 8 * DAY

/** The wall clock, which is wrong for a while. */
const during = (lastsMs, wrong) => (ms) => ms >= BEGIN && ms < BEGIN + lastsMs ? wrong(ms) : T + ms
/** By the true time since T, what the wall clock says. */
const clocks = {
  '1970 at boot, and then right': () => during(6 * HOUR, (ms) => ms - BEGIN + 9000),
  'a day behind': () => during(DAY, (ms) => T + ms - DAY),
  'a year ahead, and back': () => during(6 * HOUR, (ms) => T + ms + 365 * DAY),
  'five seconds back at midnight': () => (ms) => T + ms - ((ms + 9 * HOUR) % DAY < HOUR ? 5000 : 0),
  'summer time ends': () => (ms) => T + ms,
  frozen: () => during(DAY, () => T + BEGIN),
  // The machine sleeps from the first to the second hour of the day.
  suspended: () => (ms) => T + ms,
  'jumps at random': (random) => during(DAY, (ms) => T + ms + random(60 * DAY) - 30 * DAY),
  2036: () => during(6 * HOUR, (ms) => ms - BEGIN + Date.UTC(2036, 0, 1)),
  'slowly backwards': () => during(DAY, (ms) => T + BEGIN - (ms - BEGIN) / 10)
}

/** The true times at which something happens. */
function * steps (name) {
  for (let ms = 0; ms < DAYS * DAY; ms += STEP) {
    const hour = (ms / HOUR) % 24
    if (name === 'suspended' && hour > 6 && hour < 18) continue
    yield ms
  }
}

/**
 * Time counts from here on for a record of this time. What is older than jumps again and again goes once its age has
 * passed after them, and after the segments around them: some ten days later.
 */
function countedFrom (name, ms) {
  return name === 'jumps at random' ? Math.max(ms, BEGIN + 11 * DAY) : ms
}

/** Begins a clock that follows the true time, and says every time what the wall clock should. */
function begin (t, name) {
  const random = createRandom(name === 'jumps at random' ? JUMPS_SEED : seed)
  const toWall = clocks[name](random)
  const wall = fakeWallClock(t, toWall(0))
  return { random, setTrue: (ms) => wall.set(toWall(ms)) }
}

for (const name of Object.keys(clocks)) {
  const title = `clocks: ${name}`

  tape(`${title}: segments, limits and reads of a period (seed ${seed})`, async (t) => {
    const { random, setTrue } = begin(t, name)
    const steady = stopClock(t)
    const folder = newPath('logs')
    const keep = { where: { path: 'kept', equals: true }, maxAge: 12 * DAY }
    const options = { codec, segmentDay: 'Europe/Berlin', maxAge: 5 * DAY, keep, time: ['time'], segmentSize: 2 ** 20 }
    const written = []
    let log = SegmentedLog(folder, options)
    let problem = ''
    for (const ms of steps(name)) {
      setTrue(ms)
      // The steady clock does not count the hours of sleep.
      steady.pass(STEP)
      if (random(6) === 0 || ms === BEGIN) {
        await log.close()
        log = SegmentedLog(folder, options)
      }
      const record = { ms, time: Date.now(), kept: written.length % 3 === 0 }
      written.push(record)
      await log.append(record)
      await log.dropBefore(0)
      const left = await collect(log.stream({ seqs: false }))
      // A segment spans a day, and a clock may be off by a day.
      const mustBe = written.filter((one) => ms - one.ms < (one.kept ? 10 : 3) * DAY)
      const there = new Set(left.map((one) => one.ms))
      const missing = mustBe.filter((one) => !there.has(one.ms))
      const old = left.filter((one) => ms - countedFrom(name, one.ms) > (one.kept ? 15 : 8) * DAY)
      if (missing.length > 0) problem ||= `day ${ms / DAY}: ${missing.length} young records are missing`
      if (old.length > 0) problem ||= `day ${ms / DAY}: ${old.length} old records are left`
      const [gte, lt] = [0, 0].map(() => written[random(written.length)].time).sort((a, b) => a - b)
      const found = await collect(log.stream({ time: { gte, lt }, seqs: false, onRetained: 'skip' }))
      const expected = left.filter(({ time }) => time >= gte && time < lt)
      const isSame = JSON.stringify(found) === JSON.stringify(expected)
      if (!isSame) problem ||= `day ${ms / DAY}: ${found.length} of ${expected.length}`
    }
    t.equal(problem, '')
    const days = (await log.segments()).length
    t.ok(days >= 6 && days <= (name === 'jumps at random' ? 34 : 20), `${days} segments are left`)
    const left = await collect(log.stream({ seqs: false }))
    await log.close()
    const [since, until] = [T + (DAYS - 12) * DAY, T + (DAYS - 6) * DAY]
    const bounds = ['--since', new Date(since).toISOString(), '--until', new Date(until).toISOString()]
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, 'cat', folder, ...bounds])
    const printed = stdout.trim().split('\n').map((line) => JSON.parse(line))
    t.deepEqual(printed, left.filter(({ time }) => time >= since && time < until), 'the command')
  })

  tape(`${title}: ingest (seed ${seed})`, async (t) => {
    const { random, setTrue } = begin(t, name)
    const folder = temporaryFolder()
    const stored = []
    const boots = [BEGIN - 2 * HOUR, BEGIN - HOUR, BEGIN, BEGIN + HOUR, BEGIN + 20 * HOUR]
    for (const boot of boots) {
      setTrue(boot)
      const server = createIngest({ port: 0, folder })
      const url = await server.listen()
      await server.ready()
      const post = async (key, body) => {
        const headers = { 'content-type': 'application/json', 'idempotency-key': key, prefer: 'ack=written' }
        return (await fetch(`${url}/v1/logs/se`, { method: 'POST', headers, body })).json()
      }
      const read = async (query) => {
        const text = await (await fetch(url + query)).text()
        return text.trim().split('\n').map((line) => JSON.parse(line)).slice(0, -1)
      }
      for (let i = 0; i < 4; i++) {
        setTrue(boot + i * 1000)
        const key = `k${stored.length}`
        const body = JSON.stringify({ source: 's', event: key })
        stored.push({ key, body, last: (await post(key, body)).last })
        const retried = stored[random(stored.length)]
        const { last } = await post(retried.key, retried.body)
        if (last !== retried.last) t.fail(`a retry of ${retried.last} got ${last}`)
      }
      const all = await read('/v1/logs/se')
      t.equal(all.length, stored.length, 'each once')
      const bounds = all.map(({ time }) => time)
      for (let i = 0; i < 4; i++) {
        const [since, until] = [0, 0].map(() => bounds[random(bounds.length)])
        const found = await read(`/v1/logs/se?since=${since}&until=${until}`)
        const expected = all.filter(({ time }) => time >= since && time <= until)
        if (found.length !== expected.length) t.fail(`${found.length} of ${expected.length}`)
      }
      const counts = await read('/v1/se/counts')
      const days = all.map(({ time, value }) => `${new Date(time).toISOString().slice(0, 10)} ${value.event}`)
      t.deepEqual(counts.map(({ day, event }) => `${day} ${event}`).sort(), days.sort(), 'counts')
      await server.close()
    }
  })

  tape(`${title}: writer, forwarder and slots (seed ${seed})`, async (t) => {
    const { random, setTrue } = begin(t, name)
    let ms = BEGIN - HOUR
    const pass = () => setTrue(ms += random(HOUR))
    const folder = temporaryFolder()
    const log = SegmentedLog(path.join(folder, 'log'), { codec: lines, segmentDay: 'UTC' })
    const writer = LogWriter(log, { batch: { ageMs: 20 } })
    const got = []
    let failures = 0
    const send = async (records) => {
      pass()
      if (failures++ % 3 < 2) throw new Error('down')
      got.push(...records.map(({ value }) => value.n))
    }
    const forwarder = Forwarder(log, { name: 'f', sink: { send }, batch: { ageMs: 10 }, backoff: { minMs: 1, maxMs: 10 } })
    for (let n = 0; n < 20; n++) {
      pass()
      writer.write({ n, time: Date.now() })
      // Nobody flushes: the interval does, and the forwarder tries again.
      if (n % 5 === 4) await until(() => got.length === n + 1)
    }
    t.deepEqual(got, Array.from({ length: 20 }, (_, n) => n))
    await forwarder.close()
    await writer.close()
    await log.close()

    const slots = [0, 1].map(() => SlotLog(path.join(folder, 'slots'), { codec, slots: 2 }))
    await Promise.all(slots.map((slot) => slot.ready()))
    const merged = MergedLog(path.join(folder, 'slots'), { codec, latenessMs: 20 })
    const live = collect(merged.stream({ live: true, seqs: false, limit: 40 }))
    for (let n = 0; n < 40; n++) {
      pass()
      await slots[n % 2].append({ n, time: Date.now() })
    }
    for (const all of [await live, await collect(merged.stream({ seqs: false }))]) {
      for (const slot of [0, 1]) {
        const ns = all.map(({ n }) => n).filter((n) => n % 2 === slot)
        t.deepEqual(ns, Array.from({ length: 20 }, (_, i) => 2 * i + slot), 'each once, in the order of its slot')
      }
    }
    for (const one of [merged, ...slots]) await one.close()
  })
}
