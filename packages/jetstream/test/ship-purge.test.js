'use strict'
// The target of a shipper is purged, as a whole or in part: the shipper says so, and ships again what can be.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { failureOf, until } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { startFakeServer } = require('./fake/server')
const { checkShipped, closeAll, fill, makeSource, shipTo } = require('./ship-helpers')

/** Ships 500 records, does something to the stream, and goes on. */
function shipTest (title, run, config) {
  tape(`js-window-purge: ${title}`, async (t) => {
    const server = await startFakeServer()
    const source = await makeSource(500)
    const target = JetStreamLog({ servers: server.url, stream: 'shipped', codec: jsonCodec, config })
    const shippers = []
    const ship = (options) => {
      shippers.push(shipTo(source, target, options))
      return shippers[shippers.length - 1]
    }
    const shipper = ship()
    await shipper.drained()
    await run({ t, source, target, shipper, ship, stream: server.streams.get('shipped') })
    await closeAll(...shippers, target, source)
    server.close()
  })
}

const kinds = ({ reports }) => reports.map(({ what }) => what)

shipTest('a purge is noticed before the next append', async ({ t, source, target, shipper, stream }) => {
  stream.purge()
  await fill(source, 1, 500)
  await shipper.drained()
  t.deepEqual(kinds(shipper), ['target'], 'one report, and no try that fails')
  t.match(shipper.reports[0].message, /was purged: it had the record .*, and has no record now; going on with/)
  t.equal(stream.messages.size, 501)
  await checkShipped(t, source, target, 501)
})

shipTest('a purge is noticed while there is nothing to ship', async ({ t, source, target, shipper, stream }) => {
  stream.purge()
  await until(() => stream.messages.size === 500 && target.since.value === 1000)
  await checkShipped(t, source, target, 500)
  t.deepEqual(kinds(shipper), ['target'])
})

shipTest('a purge is noticed by the next shipper', async ({ t, source, target, shipper, ship, stream }) => {
  await shipper.close()
  stream.purge()
  const next = ship()
  await next.drained()
  t.deepEqual(kinds(next), ['target'])
  await checkShipped(t, source, target, 500)
})

shipTest('without refill a purge stops the shipper', async ({ t, source, shipper, ship, stream }) => {
  await shipper.close()
  stream.purge()
  t.equal((await failureOf(() => ship({ refill: false }).drained()))?.code, 'ERR_SHIP_TARGET_LOST')
  t.equal(stream.messages.size, 0)
})

shipTest('records that are purged before others are named once, and not shipped again', async ({ t, source, shipper, ship, stream }) => {
  stream.purge({ keep: 200 })
  await fill(source, 1, 500)
  await shipper.drained()
  t.deepEqual(kinds(shipper), ['target'])
  t.match(shipper.reports[0].message, /its records from 1 to 300 are gone/)
  const { counts } = await shipper.verify()
  t.deepEqual([counts.missing, counts.disordered, stream.messages.size], [300, 0, 201])
  await shipper.close()
  const next = ship()
  await next.drained()
  t.deepEqual(kinds(next), [], 'the cursor knows it')
})

shipTest('records that a limit drops are no loss, but a purge of all is one', async ({ t, source, shipper, stream }) => {
  await fill(source, 100, 500)
  await shipper.drained()
  t.deepEqual([kinds(shipper), stream.first], [[], 501])
  stream.purge()
  await fill(source, 1, 600)
  await shipper.drained()
  t.deepEqual(kinds(shipper), ['target'])
}, { max_msgs: 100, discard: 'old' })

shipTest('a stream whose records expire may be empty', async ({ t, source, shipper, stream }) => {
  stream.purge()
  await fill(source, 1, 500)
  await shipper.drained()
  t.deepEqual([kinds(shipper), stream.messages.size], [[], 1])
}, { max_age: 3600e9 })

shipTest('verify beside a running shipper stops neither', async ({ t, source, shipper }) => {
  for (let round = 0; round < 20; round++) {
    const verified = shipper.verify()
    await fill(source, 20, 500 + 20 * round)
    await shipper.drained()
    t.equal((await verified).isSame, true)
  }
  t.deepEqual(kinds(shipper), [])
})
