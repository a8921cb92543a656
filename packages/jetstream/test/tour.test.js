'use strict'
// A tour of the package, in the order of its README, with a server in memory.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, failureOf, newPath } = require('@millrace/testkit')
const { JetStreamLog, ship } = require('..')
const { startFakeServer } = require('./fake/server')

/** A server, and a function that opens logs on it. */
async function serve (t, options) {
  const server = await startFakeServer(options)
  const logs = []
  const open = (options) => {
    logs.push(JetStreamLog({ servers: server.url, stream: 'events', codec: jsonCodec, ...options }))
    return logs.at(-1)
  }
  t.teardown(async () => {
    for (const log of logs) await log.close().catch(() => {})
    await server.close()
  })
  return { server, open }
}

tape('tour: append, get and stream, as of any log', async (t) => {
  const { open } = await serve(t)
  const log = open()
  const seq = await log.append({ type: 'greeting', text: 'hello' })
  t.equal(seq, 1, 'seqs are those of the stream')
  await log.append([{ type: 'note', n: 1 }, { type: 'note', n: 2 }])
  t.deepEqual(await log.get(seq), { type: 'greeting', text: 'hello' })
  const found = await collect(log.stream({ gt: seq, limit: 1 }))
  t.deepEqual(found, [{ seq: 2, value: { type: 'note', n: 1 } }])
  t.deepEqual(await log.last(), { seq: 3, value: { type: 'note', n: 2 } })
})

tape('tour: an acknowledgement says what the record survives', async (t) => {
  const { server, open } = await serve(t)
  const log = open()
  await log.ready()
  t.equal(log.acknowledged, 'written', 'one replica')
  const synced = open({ monitor: server.monitor, requireSynced: true })
  await synced.ready()
  t.equal(synced.acknowledged, 'synced', 'all servers sync always, and the monitor says so')
})

tape('tour: many writers append to one stream', async (t) => {
  const { open } = await serve(t)
  const [first, second] = [open(), open()]
  await first.append({ n: 1 })
  await second.append({ n: 2 })
  t.deepEqual((await collect(first.stream({ live: true, limit: 2, seqs: false }))).map(({ n }) => n), [1, 2])
})

tape('tour: what it cannot do, it refuses', async (t) => {
  const { open } = await serve(t)
  const log = open()
  await log.ready()
  t.equal(log.supports.compact, false)
  t.equal((await failureOf(() => log.compact())).code, 'ERR_NOT_SUPPORTED')
  t.equal((await failureOf(() => log.append('a', { if: { where: [] } }))).code, 'ERR_NOT_SUPPORTED')
})

tape('tour: a log is shipped to a stream, each record once', async (t) => {
  const { open } = await serve(t)
  const log = OffsetLog(newPath('orders.log'), { codec: jsonCodec })
  await log.append([{ order: 1 }, { order: 2 }])
  const stream = open()
  const shipper = ship(log, stream, { onReport: () => {} })
  await shipper.drained()
  t.deepEqual(await stream.last(), { seq: 2, value: { order: 2 } })
  for (const each of [shipper, log]) await each.close()
})
