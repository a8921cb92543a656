'use strict'
// The quota overtakes a sink that is down: what the reports and the lag say is compared with what the sink missed.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, newPath, until } = require('@millrace/testkit')
const { forward } = require('./helpers')

const ROUND_COUNT = process.env.MILLRACE_TESTS === 'long' ? 60 : 6

/** Appends, rolls, drops, stops and starts the sink at random. */
async function overtake (random) {
  const log = SegmentedLog(newPath('log'), { codec: jsonCodec, maxHeldSize: 0 })
  await log.ready()
  let isDown = true
  const seen = []
  const sink = async (records) => {
    if (isDown) throw new Error('down')
    seen.push(...records.map(({ value }) => value.n))
  }
  const forwarder = forward(log, { sink, name: 'sink', path: newPath('cursor'), lagMs: 5, batch: { ageMs: 0, count: 20 } })
  await forwarder.ready()
  let count = 0
  for (let step = 0; step < 40; step++) {
    const kind = random(10)
    if (kind < 6) {
      const added = 1 + random(100)
      const text = 'x'.repeat(random(2) === 0 ? 10 : 20_000)
      await log.append(Array.from({ length: added }, () => ({ n: count++, text })))
      // What was dropped before anybody counted it is reported as unknown.
      if (random(4) > 0) await counted(forwarder, log, seen)
    } else if (kind < 8) {
      await log.roll()
      await log.dropBefore(log.since.value)
    } else {
      isDown = !isDown
    }
  }
  isDown = false
  await forwarder.drained()
  const reports = forwarder.reports.filter(({ what }) => what === 'skipped')
  await forwarder.close()
  await log.close()
  return { count, seen, reports }
}

/** What a forwarder has read at once is not missing, even if the log drops it meanwhile. */
const READ_COUNT_MAX = 1000

/** Waits until the lag says what the log has after the last record that the sink got. */
function counted (forwarder, log, seen) {
  return until(async () => {
    const left = await log.count({ where: { path: 'n', gt: seen.at(-1) ?? -1 }, onRetained: 'skip' })
    const lag = forwarder.lag.value?.records ?? 0
    return lag >= left && lag <= left + READ_COUNT_MAX
  })
}

for (let round = 0; round < ROUND_COUNT; round++) {
  const seed = (Date.now() + round * 7919) % 2 ** 31
  tape(`overtaken: the lag is what is left, and reports add up to what is missing, round ${round}`, async (t) => {
    const { count, seen, reports } = await overtake(createRandom(seed))
    t.equal(new Set(seen).size, seen.length, `seed ${seed}: nothing twice`)
    t.deepEqual([...seen].sort((a, b) => a - b), seen, 'in order')
    const missing = count - seen.length
    const isKnown = reports.every(({ records }) => records !== null)
    // An unknown number may be none.
    if (isKnown) t.equal(reports.length > 0, missing > 0, 'a report if something is missing')
    if (isKnown) t.equal(reports.reduce((sum, { records }) => sum + records, 0), missing, 'as many as are missing')
    else t.ok(reports.reduce((sum, { records }) => sum + (records ?? 0), 0) <= missing, 'an unknown number is told as such')
  })
}
