'use strict'
// A forwarder on a log that is damaged, or has a segment that cannot be opened: it goes past it, says so once, and
// sends everything else. It goes past a broken newest segment once a writer appends behind it.

const fs = require('node:fs')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { newPath, replacements, until } = require('@millrace/testkit')
const { Forwarder } = require('..')
const { createCollector, forward, makeLog } = require('./helpers')

const PLACES = { first: 0, middle: 1, newest: 2 }
const PER_SEGMENT = 3
const COUNT = PER_SEGMENT * 3
const LATER = [100, 101]

async function fill (folder) {
  const log = SegmentedLog(folder, { codec: jsonCodec })
  for (let n = 0; n < COUNT; n++) {
    if (n > 0 && n % PER_SEGMENT === 0) await log.roll()
    await log.append({ n })
  }
  const segments = await log.segments()
  await log.close()
  return segments.map(({ path }) => path)
}

for (const [kind, damage] of Object.entries(replacements)) {
  for (const [where, place] of Object.entries(PLACES)) {
    // Nothing tells that it was not dropped, or that there was another one.
    if (kind === 'gone' && where !== 'middle') continue
    tape(`broken segment: a forwarder goes past the ${where} one, which is or has ${kind}`, async (t) => {
      const folder = newPath('logs')
      const files = await fill(folder)
      damage(files[place])
      const left = Array.from({ length: COUNT }, (_, n) => n).filter((n) => Math.floor(n / PER_SEGMENT) !== place)
      const log = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
      const sent = []
      const reports = []
      const forwarder = Forwarder(log, {
        sink: (records) => { sent.push(...records.map(({ value }) => value.n)) },
        onReport: (report) => reports.push(report),
        batch: { ageMs: 10 },
        backoff: { minMs: 1, maxMs: 10 }
      })
      await until(() => sent.length === left.length)
      t.deepEqual(sent, left, 'what is there already')
      await forwarder.drained()
      t.deepEqual(reports.map(({ what }) => what), ['skipped'], 'it is told before a writer appends')
      const writer = SegmentedLog(folder, { codec: jsonCodec })
      for (const n of LATER) await writer.append({ n })
      await until(() => sent.length === left.length + LATER.length)
      t.deepEqual(sent, [...left, ...LATER], 'what comes later')
      await forwarder.drained()
      t.deepEqual(reports.map(({ what }) => what), ['skipped'], JSON.stringify(reports))
      t.equal(reports[0].from === reports[0].to, where === 'newest', 'whether anything follows')
      t.equal(forwarder.stats().skipped, 1)
      await forwarder.close()
      await log.close()
      await writer.close()
    })
  }
}

tape('damage: it is told once if the record that follows it does not fit into the same read', async (t) => {
  const file = newPath('log')
  const log = makeLog({}, file)
  // A read takes one of them.
  for (let n = 0; n < 6; n++) await log.append({ n, text: 'x'.repeat(600_000) })
  await log.close()
  fs.writeFileSync(file, fs.readFileSync(file).fill(0, 800_000, 801_000).fill(0, 2_600_000, 2_601_000))
  const damaged = makeLog({ flags: 'r' }, file)
  const sink = createCollector()
  const forwarder = forward(damaged, { sink })
  await forwarder.drained()
  t.deepEqual(sink.all, [0, 2, 3, 5])
  t.deepEqual(forwarder.reports.map(({ what }) => what), ['skipped', 'skipped'], 'one for each place')
  await forwarder.close()
  await damaged.close()
})

tape('damage: at the end of a file it is told once, and so is what is damaged behind it later', async (t) => {
  const folder = newPath('logs')
  const files = await fill(folder)
  replacements['no head'](files[2])
  const log = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  const sink = createCollector()
  const forwarder = forward(log, { sink })
  await forwarder.drained()
  t.deepEqual(forwarder.reports.map(({ from, to }) => from === to), [true])
  await forwarder.pause()
  const writer = SegmentedLog(folder, { codec: jsonCodec })
  for (const n of LATER) {
    await writer.append({ n })
    await writer.roll()
  }
  await writer.append({ n: 102 })
  const later = (await writer.segments()).find(({ path }) => !files.includes(path))
  await writer.close()
  replacements['no head'](later.path)
  await forwarder.resume()
  await until(() => sink.all.includes(102))
  t.deepEqual(sink.all, [0, 1, 2, 3, 4, 5, 101, 102])
  // Whether it has met the damage before it could read what follows depends on when it looked.
  const skipped = forwarder.reports.filter(({ what }) => what === 'skipped')
  t.equal(skipped.length, 2, JSON.stringify(skipped))
  await forwarder.close()
  await log.close()
})
