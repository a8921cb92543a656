'use strict'
// What servers refuse, forget and change is an error with a code, never silence.

const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, failureOf } = require('@millrace/testkit')
const { jetstreamManager } = require('@nats-io/jetstream')
const { connect } = require('@nats-io/transport-node')
const { JetStreamLog } = require('..')
const { freePort, serverTest, startServer } = require('./server')

/**
 * @typedef {(open: (options?: object) => any, manager: any, server: import('./server').Server) => Promise<void>} Run
 * @type {(t: any, run: Run, options?: object) => Promise<void>}
 */
async function withServer (t, run, options) {
  const server = await startServer(options)
  const nc = await connect({ servers: server.url })
  const logs = []
  const open = (given = {}) => {
    logs.push(JetStreamLog({ servers: server.url, stream: 'events', codec: jsonCodec, timeout: 3000, ...given }))
    return logs[logs.length - 1]
  }
  await run(open, await jetstreamManager(nc), server)
  for (const log of logs) await log.close()
  await nc.close()
  await server.remove()
}

const codeOf = async (run) => (await failureOf(run))?.code

serverTest(tape, 'stream: one that is deleted fails appends, reads and live streams', (t) => withServer(t, async (open, manager) => {
  const log = open()
  await log.append(['a', 'b'])
  const live = failureOf(async () => { for await (const { seq } of log.stream({ live: true })) t.ok(seq) })
  await manager.streams.delete('events')
  const err = await failureOf(() => log.append('c'))
  t.equal(err?.code, 'ERR_LOG_REPLACED')
  t.ok(err?.cause, 'with the error of the server')
  t.equal((await live)?.code, 'ERR_LOG_REPLACED')
  t.equal(await codeOf(() => log.get(1)), 'ERR_LOG_REPLACED')
  t.equal(await codeOf(() => log.count()), 'ERR_LOG_REPLACED')
}))

serverTest(tape, 'stream: one that is deleted while nobody appends ends a live stream', (t) => withServer(t, async (open, manager) => {
  const log = open()
  await log.append('a')
  const live = failureOf(async () => { for await (const { seq } of log.stream({ live: true })) t.equal(seq, 1) })
  await log.ready()
  await manager.streams.delete('events')
  t.equal((await live)?.code, 'ERR_LOG_REPLACED')
}))

serverTest(tape, 'stream: one that was deleted and made anew is noticed', (t) => withServer(t, async (open, manager) => {
  const log = open({ follow: false })
  await log.append(['a', 'b', 'c'])
  const { config } = await manager.streams.info('events')
  await manager.streams.delete('events')
  await manager.streams.add(config)
  t.equal(await codeOf(() => log.append('d')), 'ERR_LOG_REPLACED')
  t.equal(await codeOf(() => log.append('e')), 'ERR_LOG_REPLACED', 'for good')
}))

serverTest(tape, 'stream: a subject that another stream has taken over gets nothing', (t) => withServer(t, async (open, manager) => {
  const log = open()
  await log.append('a')
  await manager.streams.update('events', { subjects: ['elsewhere'] })
  await manager.streams.add({ name: 'other', subjects: ['events'] })
  t.equal(await codeOf(() => log.append('b')), 'ERR_LOG_REPLACED')
  t.equal((await manager.streams.info('other')).state.messages, 0)
  t.equal(await codeOf(() => open().ready()), 'ERR_LOG_REPLACED')
}))

serverTest(tape, 'stream: a full one refuses, and keeps what it has', (t) => withServer(t, async (open) => {
  const log = open({ config: { max_msgs: 3 } })
  await log.append(['a', 'b'])
  t.equal(await codeOf(() => log.append(['c', 'd'])), 'ERR_LOG_FULL')
  const results = await Promise.allSettled(['c', 'd'].map((value) => log.append(value)))
  const states = results.map(({ status, reason }) => reason?.code ?? status)
  // Without atomic batches the first record of the batch has taken the room.
  t.deepEqual(states, [log.supports.atomicBatch ? 'fulfilled' : 'ERR_LOG_FULL', 'ERR_LOG_FULL'])
  t.equal(await log.count(), 3)
}))

serverTest(tape, 'records: one that is too large fails alone', (t) => withServer(t, async (open) => {
  const log = open({ config: { max_msg_size: 1000 } })
  const results = await Promise.allSettled([log.append('a'), log.append('x'.repeat(2000)), log.append('b')])
  t.deepEqual(results.map(({ status, reason }) => reason?.code ?? status), ['fulfilled', 'ERR_RECORD_TOO_LARGE', 'fulfilled'])
  t.equal(await codeOf(() => log.append('x'.repeat(2 << 20))), 'ERR_RECORD_TOO_LARGE')
  t.equal(await log.count(), 2)
}))

serverTest(tape, 'codec: another one than that of the stream is refused', (t) => withServer(t, async (open) => {
  await open().append('a')
  t.equal(await codeOf(() => open({ codec: { ...jsonCodec, name: 'other' } }).ready()), 'ERR_CODEC_MISMATCH')
  const bytes = open({ codec: undefined })
  t.equal(String(await bytes.get(1)), '"a"')
  t.equal(await codeOf(() => bytes.append(Buffer.from('b'))), 'ERR_CODEC_MISMATCH')
}))

serverTest(tape, 'open: what cannot be this log is refused', (t) => withServer(t, async (open, manager) => {
  t.equal(await codeOf(() => open({ mustExist: true }).ready()), 'ENOENT')
  await manager.streams.add({ name: 'memory', subjects: ['memory'], storage: 'memory' })
  await manager.streams.add({ name: 'queue', subjects: ['queue'], retention: 'workqueue' })
  await manager.streams.add({ name: 'many', subjects: ['many.*'] })
  t.equal(await codeOf(() => open({ stream: 'memory' }).ready()), 'ERR_NOT_SUPPORTED')
  t.equal(await codeOf(() => open({ stream: 'queue' }).ready()), 'ERR_NOT_SUPPORTED')
  t.equal(await codeOf(() => open({ stream: 'many', subject: 'many.1' }).ready()), 'ERR_LOG_REPLACED')
  t.equal(await codeOf(() => open({ replicas: 3 }).ready()), 'ERR_SERVER_REFUSED')
  for (const options of [{}, { stream: 'a b' }, { stream: 'a', subject: 'a.*' }, { stream: 'a', replicas: 9 }, { stream: 'a', retries: 1 }]) {
    t.equal(await codeOf(async () => JetStreamLog(options)), 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
  }
}))

serverTest(tape, 'durable: it is what the servers say', (t) => withServer(t, async (open, manager, server) => {
  for (const monitor of [[], server.monitor]) {
    const err = await failureOf(() => open({ requireSynced: true, monitor }).ready())
    t.equal(err?.code, 'ERR_LOG_NOT_SYNCED', err?.message)
    const log = open({ monitor })
    await log.ready()
    t.deepEqual([log.acknowledged, log.supports.durable], ['written', false])
    t.equal(await codeOf(async () => log.durable), 'ERR_NOT_SUPPORTED')
    t.equal(await codeOf(() => log.sync()), 'ERR_NOT_SUPPORTED')
    t.equal((await log.stats()).syncIntervalMs, monitor === server.monitor ? 120_000 : null)
  }
}))

serverTest(tape, 'durable: servers that sync always make it since', (t) => withServer(t, async (open, manager, server) => {
  const log = open({ requireSynced: true, monitor: server.monitor })
  const seq = await log.append(['a', 'b'])
  t.deepEqual([log.acknowledged, log.durable.value, seq], ['synced', 2, 2])
  await log.sync()
}, { syncInterval: 'always' }))

serverTest(tape, 'append: what is published again with the same ids adds nothing', (t) => withServer(t, async (open) => {
  const log = open()
  t.equal(await log.appendOnce(['a', 'b'], ['1', '2']), 2)
  t.equal(await log.appendOnce(['a', 'b'], ['1', '2']), 2)
  t.equal(await log.appendOnce(['b', 'c', 'd'], ['2', '3', '4']), 4)
  t.equal(await log.appendOnce(['d'], ['4']), 4)
  t.deepEqual(await log.stream({ seqs: false })[Symbol.asyncIterator]().next(), { done: false, value: 'a' })
  t.equal(await log.count(), 4)
  t.equal(await log.idOf(3), '3')
  t.equal(await codeOf(() => log.appendOnce('a', ['1'])), 'ERR_INVALID_ARGUMENT')
}))

serverTest(tape, 'since: follows the appends of others, unless follow is false', (t) => withServer(t, async (open) => {
  const [writer, reader, alone] = [open({ follow: false }), open(), open({ follow: false })]
  await Promise.all([reader.ready(), alone.ready()])
  const values = reader.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
  const next = values.next()
  await writer.append(['a', 'b'])
  t.equal((await next).value, 'a')
  t.deepEqual([reader.since.value, alone.since.value], [2, -1])
  await values.return()
}))

serverTest(tape, 'server: one that is away is waited for, and then given up', (t) => withServer(t, async (open, manager, server) => {
  const [patient, hasty] = [open({ timeout: 20_000 }), open({ timeout: 300 })]
  await Promise.all([patient.append('a'), hasty.ready()])
  await server.kill()
  const appended = patient.append('b')
  t.equal(await codeOf(() => hasty.get(1)), 'ERR_SERVER_UNAVAILABLE')
  await server.start()
  t.equal(await appended, 2)
  t.equal(await codeOf(async () => JetStreamLog({ servers: `127.0.0.1:${await freePort()}`, stream: 'a' }).ready()), 'ERR_SERVER_UNAVAILABLE')
}))

serverTest(tape, 'token: the right one opens, a wrong one is refused', async (t) => {
  const server = await startServer({ config: 'authorization { token: "secret" }' })
  const open = (token) => JetStreamLog({ servers: server.url, stream: 'events', codec: jsonCodec, token })
  const log = open('secret')
  t.equal(await log.append('a'), 1)
  await log.close()
  const err = await failureOf(() => open('wrong').ready())
  t.equal(err?.code, 'ERR_SERVER_REFUSED')
  t.ok(err?.cause)
  t.notOk(err?.message.includes('wrong'), err?.message)
  await server.remove()
})

serverTest(tape, 'stream: what its limits have dropped is said to those who resume there', (t) => withServer(t, async (open, manager) => {
  const log = open({ config: { max_msgs: 5, discard: 'old' } })
  await log.append(Array.from({ length: 8 }, (_, n) => n + 1))
  const read = async (options) => {
    return (await collect(log.stream(options))).map(({ value }) => value)
  }
  t.deepEqual(await read(), [4, 5, 6, 7, 8], 'from the beginning: from the first one that is kept')
  t.deepEqual(await read({ gt: 3 }), [4, 5, 6, 7, 8], 'nothing is missing behind 3')
  const err = await failureOf(() => read({ gt: 2 }))
  t.equal(err?.code, 'ERR_LOG_SEQ_RETAINED', err?.message)
  t.equal(await codeOf(() => log.get(1)), 'ERR_LOG_SEQ_RETAINED')
  t.deepEqual(await read({ gt: 2, onRetained: 'skip' }), [4, 5, 6, 7, 8])
  await log.del(6)
  t.deepEqual(await read({ gt: 5 }), [7, 8], 'a deleted record is no dropped one')
  t.equal(await codeOf(() => log.get(6)), 'flumelog:deleted')

  const overtaken = log.stream({ gt: 4, live: true })[Symbol.asyncIterator]()
  t.equal((await overtaken.next()).value.value, 5)
  await manager.streams.update('events', { max_msgs: -1 })
  t.deepEqual(await read({ gt: 2 }), [4, 5, 7, 8], 'a stream without limits drops nothing')
  await overtaken.return()
}))
