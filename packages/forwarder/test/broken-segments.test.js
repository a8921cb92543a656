'use strict'
// A forwarder on a folder in which a segment cannot be opened: it goes past it, says so, and sends everything else. It
// goes past a broken newest segment once a writer appends behind it.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { replacements, temporaryFolder, until } = require('@millrace/testkit')
const { Forwarder } = require('..')

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
      const folder = path.join(temporaryFolder(), 'logs')
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
      const writer = SegmentedLog(folder, { codec: jsonCodec })
      for (const n of LATER) await writer.append({ n })
      await until(() => sent.length === left.length + LATER.length)
      t.deepEqual(sent, [...left, ...LATER], 'what comes later')
      await forwarder.drained()
      // The newest one is told of when the forwarder comes to it, and again when it goes past.
      const count = where === 'newest' ? 2 : 1
      t.deepEqual(reports.map(({ what }) => what), Array(count).fill('skipped'), JSON.stringify(reports))
      t.equal(forwarder.stats().skipped, count)
      await forwarder.close()
      await log.close()
      await writer.close()
    })
  }
}
