'use strict'
// Retention, rolls and chosen records under clocks that are wrong for a while.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, fakeWallClock, stopClock, temporaryFolder } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const HOUR = 3_600_000
const DAY = 24 * HOUR
const T = Date.UTC(2026, 0, 10, 12)

/** One run of a program: it appends, and applies the limits. @returns {Promise<string[]>} what is left */
async function session (clock, ms, value, storage, options = {}) {
  clock.set(ms)
  const log = SegmentedLog('/logs', { codec: jsonCodec, storage, segmentDay: 'UTC', maxAge: 7 * DAY, ...options })
  await log.append(value)
  await log.dropBefore(0)
  const all = await collect(log.stream({ seqs: false }))
  await log.close()
  return all
}

tape('clock: one boot in 1970 drops no young record', async (t) => {
  for (const wrong of ['1970-01-01T00:00:09Z', '2000-01-01T00:00:00Z', '2015-06-01T00:00:00Z']) {
    const { storage } = new SimulatedDisk()
    const clock = fakeWallClock(t, T)
    for (let i = 0; i < 3; i++) await session(clock, T + i * HOUR, `right ${i}`, storage)
    await session(clock, wrong, 'rebooted', storage)
    await session(clock, wrong, 'and again', storage)
    const left = await session(clock, T + 4 * HOUR, 'after NTP', storage)
    t.deepEqual(left, ['right 0', 'right 1', 'right 2', 'rebooted', 'and again', 'after NTP'], wrong)
  }
})

tape('clock: a log that began in 1970 drops nothing young once the clock is right', async (t) => {
  const { storage } = new SimulatedDisk()
  const clock = fakeWallClock(t, 5000)
  for (let i = 0; i < 3; i++) await session(clock, 5000 + i * DAY, `wrong ${i}`, storage)
  for (let i = 0; i < 5; i++) t.equal((await session(clock, T + i * DAY, `right ${i}`, storage)).length, 4 + i)
  for (let i = 5; i < 12; i++) await session(clock, T + i * DAY, `right ${i}`, storage)
  t.equal((await session(clock, T + 12 * DAY, 'right 12', storage))[0], 'right 5')
})

tape('clock: one segment from a year ahead neither drops young records nor keeps old ones', async (t) => {
  for (const ahead of [8 * DAY, 30 * DAY, 365 * DAY, 3650 * DAY, 1e5 * DAY, 4e6 * DAY]) {
    const { storage } = new SimulatedDisk()
    const clock = fakeWallClock(t, T)
    for (let i = 0; i < 3; i++) await session(clock, T + i * DAY, `day ${i}`, storage)
    t.equal((await session(clock, T + 3 * DAY + ahead, 'a wrong clock', storage)).length, 4, 'nothing is dropped')
    t.equal((await session(clock, T + 3 * DAY + ahead + 9 * HOUR, 'still', storage)).length, 5)
    for (let i = 4; i < 20; i++) await session(clock, T + i * DAY, `day ${i}`, storage)
    const left = await session(clock, T + 20 * DAY, 'day 20', storage)
    t.deepEqual([left[0], left.length], ['day 13', 8], `${ahead / DAY} days ahead`)
  }
})

tape('clock: after a long pause old records go within a day', async (t) => {
  const { storage } = new SimulatedDisk()
  const clock = fakeWallClock(t, T)
  for (let i = 0; i < 3; i++) await session(clock, T + i * DAY, `day ${i}`, storage)
  t.equal((await session(clock, T + 100 * DAY, 'day 100', storage)).length, 4)
  t.equal((await session(clock, T + 100.5 * DAY, 'day 100.5', storage)).length, 5)
  t.deepEqual(await session(clock, T + 101 * DAY, 'day 101', storage), ['day 2', 'day 100', 'day 100.5', 'day 101'])
})

tape('clock: a program that stays open through a pause drops old records within a day', async (t) => {
  const steady = stopClock(t)
  const clock = fakeWallClock(t, T)
  const log = SegmentedLog('/logs', { storage: new SimulatedDisk().storage, segmentDay: 'UTC', maxAge: 7 * DAY })
  for (let i = 0; i < 3; i++, clock.pass(DAY), steady.pass(DAY)) await log.append(Buffer.from(`day ${i}`))
  clock.pass(90 * DAY) // suspended
  t.equal((await log.dropBefore(0)).count, 0)
  clock.pass(12 * HOUR)
  steady.pass(12 * HOUR)
  t.equal((await log.dropBefore(0)).count, 0)
  clock.pass(13 * HOUR)
  steady.pass(13 * HOUR)
  t.equal((await log.dropBefore(0)).count, 2)
  await log.close()
})

tape('clock: chosen records are kept for as long as they should be', async (t) => {
  const keep = { where: { path: 'keep', equals: true }, maxAge: 20 * DAY }
  for (const wrong of [5000, T - 400 * DAY, T + 365 * DAY, T + 3650 * DAY]) {
    const { storage } = new SimulatedDisk()
    const clock = fakeWallClock(t, T)
    const run = (day, ms = T + day * DAY) => session(clock, ms, { day, keep: day % 2 === 0 }, storage, { keep })
    for (let day = 0; day <= 30; day++) {
      const left = await run(day)
      if (day % 10 === 5) await run(day, wrong)
      const days = left.map(({ day }) => day)
      const all = Array.from({ length: day + 1 }, (_, i) => i)
      const expected = all.filter((i) => day - i <= 6 || (i % 2 === 0 && day - i <= 19))
      const missing = expected.filter((day) => !days.includes(day))
      const old = days.filter((one) => day - one > (one % 2 === 0 ? 22 : 9))
      if (missing.length + old.length > 0) t.fail(`day ${day}: ${missing} are missing, ${old} are too old`)
    }
    t.pass(new Date(wrong).toISOString())
  }
})

tape('clock: five seconds back at midnight begin one segment', async (t) => {
  const midnight = Date.UTC(2026, 0, 11)
  const clock = fakeWallClock(t, midnight - 10_000)
  const log = SegmentedLog('/logs', { storage: new SimulatedDisk().storage, segmentDay: 'UTC' })
  const counts = []
  for (const offset of [-10_000, -100, 100, -4900, -2000, 0, 5000]) {
    clock.set(midnight + offset)
    await log.append(Buffer.from('a'))
    counts.push((await log.segments()).length)
  }
  t.deepEqual(counts, [1, 1, 2, 2, 2, 2, 2])
  clock.set(5000)
  await log.append(Buffer.from('1970'))
  t.equal((await log.segments()).length, 2, 'a clock that is not set begins no day')
  await log.close()
})

tape('clock: a frozen clock does not stop segments by age', async (t) => {
  const steady = stopClock(t)
  fakeWallClock(t, T)
  const log = SegmentedLog('/logs', { storage: new SimulatedDisk().storage, segmentAge: HOUR })
  const counts = []
  for (let i = 0; i < 4; i++, steady.pass(HOUR / 2)) {
    await log.append(Buffer.from('a'))
    counts.push((await log.segments()).length)
  }
  t.deepEqual(counts, [1, 1, 2, 2])
  await log.close()
})

tape('clock: after a failed roll, a clock that was set back does not stop rolls', async (t) => {
  const steady = stopClock(t)
  const clock = fakeWallClock(t, T)
  let isFull = false
  const open = (path, options, cb) => {
    if (!isFull || !path.endsWith('.new')) return fileStorage.open(path, options, cb)
    setImmediate(cb, Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC' }))
  }
  const warned = new Promise((resolve) => process.once('warning', resolve))
  const log = SegmentedLog(temporaryFolder(), { segmentSize: 65536, storage: { ...fileStorage, open } })
  const put = async (count) => { for (let i = 0; i < count; i++) await log.append(Buffer.alloc(8000, 1)) }
  await put(10)
  isFull = true
  await put(10)
  t.match((await warned).message, /ENOSPC/)
  const { length } = await log.segments()
  isFull = false
  clock.pass(-HOUR)
  await put(1)
  t.equal((await log.segments()).length, length, 'not at once')
  steady.pass(1001)
  await put(1)
  t.equal((await log.segments()).length, length + 1)
  await log.close()
})
