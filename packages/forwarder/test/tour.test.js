'use strict'
// A tour of the package, in the order of its README.

const { PassThrough } = require('node:stream')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { Forwarder, refused, ship, unavailable, writableSink } = require('..')

const openLog = (file = newPath('orders.log')) => OffsetLog(file, { codec: jsonCodec })
const numbered = (count, first = 0) => Array.from({ length: count }, (_, n) => ({ n: first + n }))
const upTo = (count) => Array.from({ length: count }, (_, n) => n)

/** A sink that notes what it gets. */
function collector () {
  const seen = []
  const sink = async (records) => { seen.push(...records.map(({ value }) => value.n)) }
  return { seen, sink }
}

tape('tour: the sink gets each record, in order', async (t) => {
  const log = openLog()
  const { seen, sink } = collector()
  const forwarder = Forwarder(log, { name: 'mailer', sink })
  await log.append(numbered(10))
  await forwarder.drained()
  t.deepEqual(seen, upTo(10))
  t.equal(forwarder.stats().forwarded, 10)
  await forwarder.close()
  await log.close()
})

tape('tour: a forwarder goes on from its cursor', async (t) => {
  const log = openLog()
  const { seen, sink } = collector()
  for (const first of [0, 5]) {
    await log.append(numbered(5, first))
    const forwarder = Forwarder(log, { name: 'mailer', sink })
    await forwarder.drained()
    await forwarder.close()
  }
  t.deepEqual(seen, upTo(10), 'none is missing, none comes twice')
  await log.close()
})

tape('tour: a failing sink is tried again, with the same key', async (t) => {
  const log = openLog()
  const keys = []
  const sink = async (records, { key }) => {
    keys.push(key)
    if (keys.length < 3) throw unavailable('not now')
  }
  const forwarder = Forwarder(log, { name: 'mailer', sink, backoff: { minMs: 1, maxMs: 5 }, onReport: () => {} })
  await log.append(numbered(3))
  await forwarder.drained()
  t.equal(keys.length, 3)
  t.equal(new Set(keys).size, 1)
  await forwarder.close()
  await log.close()
})

tape('tour: a record that is refused is set aside, and blocks nothing', async (t) => {
  const log = openLog()
  const { seen, sink } = collector()
  const choosy = async (records) => {
    if (records.some(({ value }) => value.n === 3)) throw refused('no threes')
    await sink(records)
  }
  const reports = []
  const forwarder = Forwarder(log, { name: 'mailer', sink: choosy, onReport: (report) => reports.push(report.what) })
  await log.append(numbered(6))
  await forwarder.drained()
  t.deepEqual(seen, [0, 1, 2, 4, 5])
  t.ok(reports.includes('refused'), String(reports))
  await forwarder.close()
  await log.close()
})

tape('tour: a stream of Node.js is a sink, too', async (t) => {
  const log = openLog()
  const stream = new PassThrough()
  const forwarder = Forwarder(log, { name: 'lines', sink: writableSink(stream) })
  await log.append(numbered(2))
  await forwarder.drained()
  t.equal(String(stream.read()), '{"n":0}\n{"n":1}\n')
  await forwarder.close()
  await log.close()
})

tape('tour: ship copies a log into another one, once and in order', async (t) => {
  const log = openLog()
  const target = openLog(newPath('copy.log'))
  await log.append(numbered(5))
  const shipper = ship(log, target)
  await shipper.drained()
  const copies = await collect(target.stream({ seqs: false }))
  t.deepEqual(copies.map(({ value }) => value.n), upTo(5))
  t.equal(copies.at(-1).seq, log.since.value, 'each says where it came from')
  t.equal((await shipper.verify()).isSame, true)
  for (const each of [shipper, target, log]) await each.close()
})
