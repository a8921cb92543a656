'use strict'
// A tour of the package, in the order of its README.

const { once } = require('node:events')
const { Worker } = require('node:worker_threads')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, newPath } = require('@millrace/testkit')
const { LogWriter, lines, preEncoded } = require('..')
const { shareWriter } = require('../threads')

/** A writer whose log is open. */
async function makeWriter (options) {
  const log = OffsetLog(newPath('app.log'), { codec: lines })
  await log.ready()
  const writer = LogWriter(log, options)
  return { log, writer, close: async () => { await writer.close(); await log.close() } }
}

tape('tour: records are written in batches, in the order of the calls', async (t) => {
  const { log, writer, close } = await makeWriter()
  writer.write({ level: 30, msg: 'started' }, 'info')
  writer.write('{"level":30,"msg":"a line that is JSON already"}', 'info')
  t.equal(await log.count(), 0, 'they wait')
  await writer.flush()
  const found = await collect(log.stream({ seqs: false }))
  t.deepEqual(found.map(({ msg }) => msg), ['started', 'a line that is JSON already'])
  t.equal(log.durable.value, log.since.value, 'a flush is synced')
  await close()
})

tape('tour: an error is written before the call returns, with all before it', async (t) => {
  const { log, writer, close } = await makeWriter()
  writer.write({ msg: 'before' }, 'info')
  writer.write({ msg: 'failed' }, 'error')
  t.equal(await log.count(), 2)
  writer.write({ msg: 'the end' }, 'fatal')
  t.equal(log.durable.value, log.since.value, 'fatal is synced')
  await close()
})

tape('tour: any level may be eager', async (t) => {
  const { log, writer, close } = await makeWriter({ eager: { warn: 'written' } })
  writer.write({ msg: 'slow' }, 'warn')
  t.equal(await log.count(), 1)
  await close()
})

tape('tour: a full queue is written, so nothing is dropped', async (t) => {
  const { log, writer, close } = await makeWriter({ queue: { count: 10 } })
  for (let n = 0; n < 1000; n++) writer.write({ n }, 'info')
  await writer.flush()
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ n }) => n), Array.from({ length: 1000 }, (_, n) => n))
  await close()
})

tape('tour: other codecs need preEncoded', async (t) => {
  const log = OffsetLog(newPath('app.log'), { codec: preEncoded(jsonCodec) })
  const writer = LogWriter(log)
  writer.write({ n: 1 }, 'info')
  await writer.close()
  t.deepEqual(await collect(log.stream({ seqs: false })), [{ n: 1 }])
  await log.close()
})

tape('tour: worker threads write through the thread that owns the writer', async (t) => {
  const { log, writer, close } = await makeWriter()
  const shared = shareWriter(writer)
  const channel = shared.connect()
  const code = `
    const { ThreadWriter } = require(${JSON.stringify(require.resolve('../threads'))})
    const logger = ThreadWriter(require('node:worker_threads').workerData)
    for (let n = 0; n < 1000; n++) logger.write({ level: 30, n }, 'info')
  `
  const worker = new Worker(code, { eval: true, workerData: channel, transferList: [channel.port] })
  await once(worker, 'exit')
  shared.close()
  await writer.flush()
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ n }) => n), Array.from({ length: 1000 }, (_, n) => n))
  await close()
})
