'use strict'
// The order of slots, and what a quota drops, if clocks were wrong for a while.

const tape = require('tape')
const { jsonCodec: codec } = require('@millrace/json-codec')
const { collect, fakeWallClock, newPath, until } = require('@millrace/testkit')
const { MergedLog, SlotLog } = require('..')

const DAY = 24 * 3_600_000
const T = Date.UTC(2026, 0, 10, 12)

/** One record for each time of each slot. */
async function makeSlots (folder, slots) {
  const logs = slots.map(() => SlotLog(folder, { codec }))
  await Promise.all(logs.map((log) => log.ready()))
  const timeOf = (day) => day === 1970 ? 5000 : T + day * DAY
  for (const log of logs) for (const day of slots[log.slot]) await log.append({ day, time: timeOf(day) })
  await Promise.all(logs.map((log) => log.close()))
}

tape('clock: one wrong time in a slot does not move what comes after it', async (t) => {
  fakeWallClock(t, T + 10 * DAY)
  const daysOf = async (slots, options) => {
    const folder = newPath('logs')
    await makeSlots(folder, slots)
    const merged = MergedLog(folder, { codec })
    const days = (await collect(merged.stream({ seqs: false, ...options }))).map(({ day }) => day)
    await merged.close()
    return days
  }
  t.deepEqual(await daysOf([[1, 3650, 2, 3], [1.5, 2.5]]), [1, 3650, 1.5, 2, 2.5, 3], 'ten years ahead')
  t.deepEqual(await daysOf([[1, 1970, 2, 3], [1.5, 2.5]]), [1, 1970, 1.5, 2, 2.5, 3], '1970')
  t.deepEqual(await daysOf([[1, 1970, 2, 3], [1.5, 2.5]], { reverse: true }), [3, 2.5, 2, 1970, 1.5, 1])
  t.deepEqual(await daysOf([[1, 3650, 2, 3], [1.5, 2.5]], { reverse: true }), [3, 2.5, 2, 3650, 1.5, 1])
})

tape('clock: a live stream goes on while the clock stands still', async (t) => {
  fakeWallClock(t, T)
  const folder = newPath('logs')
  const [a, b] = [SlotLog(folder, { codec }), SlotLog(folder, { codec })]
  await Promise.all([a.append({ n: 1, time: T }), b.ready()])
  const merged = MergedLog(folder, { codec, latenessMs: 50 })
  const source = merged.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
  t.equal((await source.next()).value.n, 1)
  await a.append({ n: 2, time: T + 40 })
  t.equal((await source.next()).value.n, 2)
  await source.return()
  for (const log of [merged, a, b]) await log.close()
})

tape('clock: a quota drops the oldest records of all slots, whatever one of them said', async (t) => {
  for (const wrong of [5000, T - 3 * DAY, T + 3650 * DAY]) {
    const clock = fakeWallClock(t, T)
    const folder = newPath('logs')
    const options = { codec, slots: 2, maxSize: 2 * 2 ** 20, segmentSize: 64 * 1024 }
    const logs = [SlotLog(folder, options), SlotLog(folder, options)]
    await Promise.all(logs.map((log) => log.ready()))
    const write = (log, n) => log.append(Array.from({ length: 16 }, () => ({ n, text: 'x'.repeat(960) })))
    let n = 0
    for (; n < 200; n++) {
      // Slot 0 begins a segment with a wrong clock, early on.
      clock.set(n > 10 && n < 20 ? wrong : T + n * 60_000)
      await write(logs[n % 2], n)
    }
    const merged = MergedLog(folder, { codec, time: ['n'] })
    const firstOf = async (slot) => (await merged.first({ after: { [1 - slot]: Number.MAX_SAFE_INTEGER } })).value.n
    await until(async () => await firstOf(0) > 20 && await firstOf(1) > 20)
    const firsts = [await firstOf(0), await firstOf(1)]
    // A segment has about eight batches, and a process drops its own at its next look.
    t.ok(Math.abs(firsts[0] - firsts[1]) < 60, `${new Date(wrong).toISOString()}: ${firsts}`)
    for (const log of [merged, ...logs]) await log.close()
  }
})
