'use strict'
// Segments by day and by age, with clocks that jump.

const tape = require('tape')
const { SimulatedDisk, collect } = require('@millrace/testkit')
const { SegmentedLog } = require('..')
const { Calendar } = require('../lib/calendar')

const HOUR_MS = 3_600_000

/** Runs with a clock of its own. */
async function withClock (run) {
  const { now } = Date
  const clock = { ms: 0 }
  Date.now = () => clock.ms
  try {
    await run(clock)
  } finally {
    Date.now = now
  }
}

tape('calendar: a day ends at midnight of its zone, also when clocks change', (t) => {
  const berlin = new Calendar('Europe/Berlin')
  const daysOf = (calendar, fromMs, hours) => {
    const days = []
    for (let hour = 0; hour < hours; hour++) {
      const day = calendar.today(fromMs + hour * HOUR_MS)
      if (days.at(-1)?.day === day) days.at(-1).hours++
      else days.push({ day, hours: 1 })
    }
    return days.map(({ hours }) => hours)
  }
  t.deepEqual(daysOf(berlin, Date.UTC(2026, 2, 27, 23), 24 + 23 + 24), [24, 23, 24], 'summer time begins')
  t.deepEqual(daysOf(berlin, Date.UTC(2026, 9, 23, 22), 24 + 25 + 24), [24, 25, 24], 'summer time ends')
  // Clocks go from 23:59 to 01:00: the day has no midnight.
  t.deepEqual(daysOf(new Calendar('America/Santiago'), Date.UTC(2026, 8, 5, 4), 24 + 23), [24, 23])
  t.deepEqual(daysOf(new Calendar('UTC'), Date.UTC(2026, 0, 1), 48), [24, 24])
  t.end()
})

tape('segmentDay: a segment begins with the first append of a day, and no clock reorders records', async (t) => {
  await withClock(async (clock) => {
    const { storage } = new SimulatedDisk()
    clock.ms = Date.UTC(2026, 9, 24, 12)
    const log = SegmentedLog('/logs', { storage, segmentDay: 'Europe/Berlin' })
    const seqs = []
    const append = async (ms) => {
      clock.ms = ms
      seqs.push(await log.append(Buffer.from(String(seqs.length))))
      return (await log.segments()).length
    }
    t.equal(await append(Date.UTC(2026, 9, 24, 12)), 1)
    t.equal(await append(Date.UTC(2026, 9, 24, 21, 59)), 1)
    t.equal(await append(Date.UTC(2026, 9, 24, 22)), 2, 'midnight in Berlin')
    t.equal(await append(Date.UTC(2026, 9, 25, 0, 30)), 2, '02:30')
    t.equal(await append(Date.UTC(2026, 9, 25, 1, 30)), 2, '02:30 again')
    t.equal(await append(Date.UTC(2038, 0, 1)), 3, 'the clock is wrong')
    t.equal(await append(Date.UTC(2026, 9, 25, 2)), 4, 'and is set back')
    t.equal(await append(Date.UTC(2026, 9, 28)), 5)
    t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
    const texts = (await collect(log.stream({ seqs: false }))).map(String)
    t.deepEqual(texts, seqs.map((_, i) => String(i)))
    await log.close()
    const again = SegmentedLog('/logs', { storage, segmentDay: 'Europe/Berlin' })
    t.equal((await again.segments()).length, 5)
    t.ok(await again.append(Buffer.from('more')) > seqs.at(-1))
    t.equal((await again.segments()).length, 5, 'the day goes on after a restart')
    await again.close()
  })
})

tape('segmentAge: an old segment gets no appends, nor one from the future', async (t) => {
  await withClock(async (clock) => {
    const { storage } = new SimulatedDisk()
    clock.ms = Date.UTC(2026, 0, 1)
    const log = SegmentedLog('/logs', { storage, segmentAge: HOUR_MS })
    const append = async () => {
      await log.append(Buffer.from('a'))
      return (await log.segments()).length
    }
    t.equal(await append(), 1)
    clock.ms += HOUR_MS - 1
    t.equal(await append(), 1)
    clock.ms += 1
    t.equal(await append(), 2)
    clock.ms -= 10 * HOUR_MS
    t.equal(await append(), 3)
    t.equal(await append(), 3)
    await log.close()
  })
})
