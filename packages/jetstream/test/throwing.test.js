'use strict'
// Callbacks that throw, of a log on JetStream. A fake server answers.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { testThrows, until } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { startFakeServer } = require('./fake/server')

let server = null
let streamCount = 0

tape('jetstream: a fake server starts', async (t) => {
  server = await startFakeServer()
  t.ok(server.url)
})

testThrows(tape, {
  name: 'jetstream',
  prepare: async () => {
    const stream = `events-${++streamCount}`
    const create = () => JetStreamLog({ servers: server.url, stream, codec: jsonCodec, timeout: 3000 })
    const log = create()
    const seqs = []
    for (const value of ['a', 'b', 'c', 'd', 'e']) seqs.push(await log.append(value))
    await log.del(seqs[4])
    await log.close()
    return { create, seqs }
  },
  names: ['ready', 'append', 'append of a batch', 'append of nothing', 'append with seqs', 'append that fails', 'drained', 'get',
    'get with a signal', 'get of no record', 'get of a deleted record', 'getMany', 'getMany that fails', 'first', 'last', 'count',
    'a read that is aborted', 'scan', 'scan that awaits its function', 'scan that fails', 'stream, and reads on',
    'stream in reverse, and reads on', 'the abort of a stream', 'a live stream', 'a live stream that closing ends', 'del',
    'del that fails', 'sync', 'stats', 'measureReclaimable', 'compact', 'snapshot', 'toSink', 'close', 'close beside other calls'],
  calls: {
    appendOnce: (log, cb) => log.appendOnce(['f'], ['1'], cb),
    'appendOnce that fails': (log, cb) => log.appendOnce(['f'], [], cb),
    idOf: (log, cb, [seq]) => log.idOf(seq, cb),
    'idOf of no record': (log, cb) => log.idOf(1e9, cb)
  }
})

tape('jetstream: sync waits for what was appended before, not for what comes later (sync-waits-for-a-pause)', async (t) => {
  const log = JetStreamLog({ servers: server.url, stream: 'busy', codec: jsonCodec, timeout: 3000 })
  await log.ready()
  // Of servers that are known to sync.
  log.supports.durable = true
  const appended = []
  let isOver = false
  const append = () => {
    if (isOver) return
    appended.push(log.append({ count: appended.length }))
    setImmediate(append)
  }
  append()
  await until(() => appended.length > 100)
  for (let round = 0; round < 3; round++) {
    const before = [...appended]
    let isDone = false
    log.sync().then(() => { isDone = true }, t.error)
    await until(() => isDone || appended.length > before.length + 5000)
    t.ok(isDone, `after ${appended.length - before.length} more`)
    const states = await Promise.all(before.map((one) => Promise.race([one, null])))
    t.ok(states.every((seq) => seq !== null), 'those before are there')
  }
  isOver = true
  await Promise.all(appended)
  await log.sync()
  await log.close()
})

tape('jetstream: the fake server ends', async (t) => {
  server.close()
  t.pass()
})
