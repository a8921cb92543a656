'use strict'
// What the limits of a log drop before anything was forwarded: a later start of the forwarder reports it, because the
// cursor remembers where the log began when the cursor was made.

const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { SimulatedDisk, collect, newPath, until } = require('@millrace/testkit')
const { openCursor } = require('../lib/cursor')
const { ship } = require('..')
const { QUICK, createCollector, fill, forward, makeLog, range } = require('./helpers')

const openLog = (folder, options) => SegmentedLog(folder, { codec: jsonCodec, ...options })
const down = async () => { throw new Error('down') }

/** Appends some segments. @type {(log: any, first: number, end: number) => Promise<void>} */
async function fillSegments (log, first, end) {
  for (; first < end; first += 10) {
    await fill(log, 10, first)
    await log.roll()
  }
}

/** Drops all but the last record's segment, whatever is held, and gives the seq of the first record that is left. */
async function dropHeld (log) {
  for (const { name } of await log.holds()) await log.release(name)
  const { count } = await log.dropBefore(log.since.value)
  if (count === 0) throw new Error('nothing was dropped')
  return (await log.first()).seq
}

/** A forwarder whose sink is down, for as long as it takes to open the cursor. */
async function failOnce (log, options) {
  const forwarder = forward(log, { sink: down, ...options })
  await forwarder.ready()
  await forwarder.close()
}

/** @type {(log: any, options?: object) => Promise<{ all: number[], skips: any[], skipped: number, reports: any[] }>} */
async function forwardAll (log, options) {
  const sink = createCollector()
  const forwarder = forward(log, { sink, ...options })
  await forwarder.drained()
  const { skipped } = forwarder.stats()
  await forwarder.close()
  const { reports } = forwarder
  return { all: sink.all, skips: reports.map(({ what, from, to }) => ({ what, from, to })), skipped, reports }
}

for (const isOwn of [true, false]) {
  for (const isEmpty of [true, false]) {
    const where = isOwn ? 'in the process of the writer' : 'in another process'
    const what = isEmpty ? 'an empty log' : 'a log with records'
    tape(`dropped: what went before anything was forwarded is told after a restart, ${where}, ${what}`, async (t) => {
      const folder = newPath('log')
      const writer = openLog(folder)
      if (!isEmpty) await fillSegments(writer, 0, 30)
      await writer.ready()
      const openOne = () => isOwn ? writer : openLog(folder, { flags: 'r' })
      const before = openOne()
      await failOnce(before)
      if (!isOwn) await before.close()
      await fillSegments(writer, 30, 60)
      const to = await dropHeld(writer)
      const after = openOne()
      const { all, skips, skipped } = await forwardAll(after)
      t.deepEqual(all, range(50, 60))
      t.deepEqual(skips, [{ what: 'skipped', from: -1, to }])
      t.equal(skipped, 1)
      t.deepEqual((await forwardAll(after)).reports, [], 'told once, if something was forwarded since')
      if (!isOwn) await after.close()
      await writer.close()
    })
  }
}

tape('dropped: what went before the cursor was made is not told, and what went since is', async (t) => {
  for (const start of ['first', 'next']) {
    const log = openLog(newPath('log'))
    await fillSegments(log, 0, 30)
    const first = await dropHeld(log)
    t.deepEqual((await forwardAll(log, { name: 'fresh' })).reports, [])
    await failOnce(log, { start })
    await failOnce(log, { start })
    const since = log.since.value
    await fillSegments(log, 30, 60)
    const to = await dropHeld(log)
    const { skips: [{ from, ...skip }, ...others], skipped } = await forwardAll(log, { start })
    t.deepEqual([skip, others, skipped], [{ what: 'skipped', to }, [], 1], start)
    if (start === 'next') t.equal(from, since)
    else t.ok(from >= 0 && from < first, 'where the log began, just before its first record')
    await log.close()
  }
})

/** A forwarder whose sink accepts so many records, one at a time, and is down then. */
async function forwardSome (log, count) {
  const sent = []
  const sink = async ([{ value }]) => {
    if (sent.length === count) throw new Error('down')
    sent.push(value.n)
  }
  const forwarder = forward(log, { sink, batch: { ageMs: 0, count: 1 } })
  await until(() => forwarder.stats().failures > 0)
  await forwarder.close()
  const { reports } = forwarder
  return { sent, skips: reports.filter(({ what }) => what === 'skipped') }
}

/** Waits until all segments but two have chosen records only. @param {any} log */
async function untilKept (log) {
  await until(async () => (await log.segments()).filter(({ kept }) => !kept).length === 2)
}

for (const lagMs of [0, 1]) {
  for (const count of [1, 2, 3]) {
    const title = `dropped: beside chosen records, what went before the cursor was made is not told, after ${count} of them, lagMs ${lagMs}`
    tape(title, async (t) => {
      const log = openLog(newPath('log'), { maxCount: 2, keep: { where: [{ path: ['n'], in: [5, 15, 25] }] } })
      await fillSegments(log, 0, 40)
      await untilKept(log)
      const chosen = (await forwardAll(log, { name: 'other' })).all
      t.deepEqual(chosen.slice(0, 4), [5, 15, 25, 30], 'what is left')
      const some = await forwardSome(log, count)
      t.deepEqual([some.sent, some.skips], [chosen.slice(0, count), []])
      const rest = await forwardAll(log, { lagMs })
      t.deepEqual([rest.all, rest.reports, rest.skipped], [chosen.slice(count), [], 0])
      await log.close()
    })

    tape(`${title}, and what went since is`, async (t) => {
      const log = openLog(newPath('log'), { maxCount: 2, keep: { where: [{ path: ['n'], in: [5, 15, 25] }] } })
      await fillSegments(log, 0, 40)
      await untilKept(log)
      await forwardSome(log, count)
      for (const { name } of await log.holds()) await log.release(name)
      await fillSegments(log, 40, 60)
      await untilKept(log)
      const rest = await forwardAll(log, { lagMs })
      t.deepEqual(rest.all, [...[5, 15, 25].slice(count), ...range(50, 60)])
      t.deepEqual(rest.skips.map(({ what }) => what), ['skipped'])
      await log.close()
    })
  }
}

tape('dropped: what is there is not told as dropped by a reader that lags behind the end of the log', async (t) => {
  const log = openLog(newPath('log'))
  await fillSegments(log, 0, 30)
  await forwardAll(log)
  const after = log.since.value
  await fillSegments(log, 30, 60)
  const to = await dropHeld(log)
  let isOld = true
  // As a reader that has the end of before.
  const lagging = Object.create(log, {
    scan: {
      value: async (range, onRun) => {
        if (range.onRetained !== 'skip' || !isOld) return log.scan(range, onRun)
        isOld = false
        await fill(log, 10, 60)
        return { lost: { count: 0, size: 0 } }
      }
    }
  })
  const { all, skips } = await forwardAll(lagging)
  t.deepEqual(all, range(50, 70))
  t.deepEqual(skips, [{ what: 'skipped', from: after, to }])
  await log.close()
})

tape('dropped: a log in one file drops nothing, also when it is compacted and its first records are deleted', async (t) => {
  const log = makeLog()
  await fill(log, 30)
  await failOnce(log)
  const seqs = await collect(log.stream({ values: false, limit: 10 }))
  await log.del(seqs)
  await log.compact()
  const { all, reports, skipped } = await forwardAll(log)
  t.deepEqual([all, reports, skipped], [range(10, 30), [], 0])
  await log.close()
})

tape('dropped: a shipper whose target was never there tells what went', async (t) => {
  const log = openLog(newPath('log'))
  await fillSegments(log, 0, 20)
  const file = newPath('log')
  const failing = OffsetLog(file, { codec: jsonCodec })
  await failing.ready()
  const held = Object.assign(Object.create(failing), { append: down })
  const first = ship(log, held, { ...QUICK, onReport: () => {} })
  await first.ready()
  await first.close()
  await fillSegments(log, 20, 40)
  const to = await dropHeld(log)
  const reports = []
  const second = ship(log, failing, { ...QUICK, onReport: (report) => reports.push(report) })
  await second.drained()
  t.deepEqual(reports.map(({ what, from, to }) => ({ what, from, to })), [{ what: 'skipped', from: -1, to }])
  t.equal(await failing.count(), 10)
  await second.close()
  await failing.close()
  await log.close()
})

tape('dropped: the cursor remembers where it began through a power cut', async (t) => {
  const log = openLog(newPath('log'))
  await fillSegments(log, 0, 20)
  const disk = new SimulatedDisk()
  const place = '/folder/cursor'
  const forwarder = forward(log, { sink: down, path: place, storage: disk.storage })
  await forwarder.ready()
  const left = disk.crash(() => 0)
  await forwarder.close()
  const { cursor, position } = await openCursor(`${place}.cursor`, left.storage)
  t.deepEqual([position?.seq, position?.from], [-1, 0])
  await cursor.close()
  await fillSegments(log, 20, 40)
  await dropHeld(log)
  t.equal((await forwardAll(log, { path: place, storage: left.storage })).skipped, 1)
  await log.close()
})

tape('dropped: a cursor that does not say where it began is read as before', async (t) => {
  const log = openLog(newPath('log'))
  await fillSegments(log, 0, 20)
  const place = newPath('cursor')
  const { cursor } = await openCursor(`${place}.cursor`, fileStorage)
  await cursor.write({ log: (await log.stats()).id, id: 'e'.repeat(32), seq: -1, end: null, step: 0, points: [], forwarded: 0, refused: 0 })
  await cursor.close()
  const { all, reports } = await forwardAll(log, { path: place })
  t.deepEqual([all, reports], [range(0, 20), []])
  await log.close()
})

tape('dropped: if only what was forwarded may have been there, the report does not say that something is missing', async (t) => {
  const log = openLog(newPath('log'))
  const path = newPath('cursor')
  await fill(log, 10, 0)
  const before = await forwardAll(log, { path })
  await log.roll()
  await fill(log, 1, 10)
  await dropHeld(log)
  const { all, reports: [report, ...others] } = await forwardAll(log, { path })
  t.deepEqual([...before.all, ...all], range(0, 11), 'nothing is')
  t.deepEqual([report.what, report.records, others], ['skipped', null, []])
  t.match(report.message, /^any records between /)
  await log.close()
})
