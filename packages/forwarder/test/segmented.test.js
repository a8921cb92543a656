'use strict'
// A segmented log: the forwarder follows it from file to file, keeps what it needs, and says what was dropped anyway.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, until } = require('@millrace/testkit')
const { createCollector, fill, forward, range } = require('./helpers')

const openLog = (options, folder = newPath('log')) => SegmentedLog(folder, { codec: jsonCodec, ...options })

tape('segmented: everything arrives in order over many segments, also after another opening', async (t) => {
  const log = openLog()
  const sink = createCollector()
  let first = 0
  for (let round = 0; round < 3; round++) {
    const forwarder = forward(log, { sink, batch: { count: 7 } })
    for (let segment = 0; segment < 4; segment++, first += 25) {
      await fill(log, 25, first)
      await log.roll()
    }
    await forwarder.drained()
    await forwarder.close()
    t.deepEqual(forwarder.reports, [])
  }
  t.deepEqual(sink.all, range(0, 300))
  t.equal(new Set(sink.keys.map((key) => key.split('-')[0])).size, 1, 'one id for all segments')
  await log.close()
  const reader = openLog({ flags: 'r' }, log.filename)
  const forwarder = forward(reader, { sink, name: 'reader' })
  await forwarder.drained()
  t.deepEqual([sink.all.length, forwarder.reports], [600, []])
  await forwarder.close()
  await reader.close()
})

tape('segmented: what the forwarder needs is kept; what was dropped anyway is skipped and told', async (t) => {
  const log = openLog()
  const sink = createCollector()
  let isDown = true
  const forwarder = forward(log, {
    fsync: 'always',
    lagMs: 5,
    sink: async (records, context) => {
      if (isDown) throw new Error('down')
      await sink.send(records, context)
    },
    batch: { count: 10 }
  })
  for (let first = 0; first < 100; first += 20) {
    await fill(log, 20, first)
    await log.roll()
  }
  t.equal((await log.dropBefore(log.since.value)).count, 0, 'held')
  isDown = false
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 100))
  t.ok((await log.dropBefore(log.since.value)).count > 0, 'and given up once it is forwarded')
  await forwarder.pause()
  for (let first = 100; first < 200; first += 20) {
    await fill(log, 20, first)
    await log.roll()
  }
  await fill(log, 20, 200)
  await until(() => forwarder.lag.value.records === 120)
  await log.release('default')
  await log.dropBefore(log.since.value)
  await forwarder.resume()
  await forwarder.drained()
  const rest = sink.all.slice(100)
  t.ok(rest.length > 0 && rest.length < 120)
  t.deepEqual(rest, range(220 - rest.length, 220))
  const skipped = forwarder.reports.filter(({ what }) => what === 'skipped')
  t.deepEqual(skipped.map(({ records }) => records), [120 - rest.length])
  await forwarder.close()
  await log.close()
})

tape('segmented: chosen records that the log keeps longer are forwarded once, also from one of them on', async (t) => {
  const log = openLog({ maxCount: 2, keep: { where: { path: 'n', in: [3, 12, 14, 15, 28] } } })
  for (let first = 0; first < 40; first += 5) {
    await fill(log, 5, first)
    await log.roll()
  }
  await log.dropBefore(0)
  const sink = createCollector()
  let left = 2
  const failing = async (records, context) => {
    if (left-- <= 0) throw new Error('down')
    await sink.send(records, context)
  }
  const first = forward(log, { sink: failing, batch: { count: 1 } })
  await until(() => left < 0)
  await first.close()
  t.deepEqual(sink.all, [3, 12])
  const second = forward(log, { sink, batch: { count: 1 } })
  await second.drained()
  t.deepEqual(sink.all, [3, 12, 14, 15, 28, ...range(35, 40)])
  t.deepEqual(second.reports, [], 'what was dropped before the cursor was made is not its loss')
  await second.close()
  await log.close()
})
