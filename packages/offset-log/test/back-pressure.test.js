'use strict'
// A stream does no work that its reader has not asked for: it decodes one record a read, reads no more of the file than
// the span where that record lies, and costs nothing before the first read and after the last one.

const { Readable, Writable } = require('node:stream')
const { pipeline } = require('node:stream/promises')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const COUNT = 2000
// A reader begins with a span of 16 KiB; finding the page of its first record and its size takes a few reads more.
const FIRST_READ_SIZE_MAX = 64 * 1024

/** A log of 2 MB, and how many records of it were decoded, and how many bytes of the file read. */
async function openCounting (framing) {
  const counts = { decoded: 0, bytes: 0, calls: 0 }
  const decide = ({ name, length = 0 }) => {
    counts.calls++
    if (/^read/.test(name)) counts.bytes += length
  }
  const disk = new SimulatedDisk({ decide })
  const codec = {
    ...jsonCodec,
    decodeRange: undefined,
    decode: (bytes) => {
      counts.decoded++
      return jsonCodec.decode(bytes)
    }
  }
  const log = OffsetLog('/folder/log', { framing, codec, storage: disk.storage, cache: 2 ** 17, fsync: 'never' })
  await log.append(Array.from({ length: COUNT }, (_, i) => ({ i, text: 'x'.repeat(1000) })))
  Object.assign(counts, { decoded: 0, bytes: 0, calls: 0 })
  return { log, counts }
}

for (const framing of ['checked', 'offset32']) {
  tape(`back-pressure: a read decodes one record, and reads little of the file (${framing})`, async (t) => {
    const { log, counts } = await openCounting(framing)
    for (const options of [{}, { live: true }, { reverse: true }]) {
      const source = log.stream(options)
      const read = () => new Promise((resolve) => source(null, resolve))
      Object.assign(counts, { decoded: 0, bytes: 0 })
      await read()
      t.equal(counts.decoded, 1, JSON.stringify(options))
      t.ok(counts.bytes > 0 && counts.bytes <= FIRST_READ_SIZE_MAX, `${counts.bytes} bytes for the first record`)
      for (let i = 1; i < 100; i++) await read()
      t.equal(counts.decoded, 100)
      t.ok(counts.bytes <= 8 * FIRST_READ_SIZE_MAX, `${counts.bytes} bytes for a hundred`)
      await new Promise((resolve) => source(true, resolve))
    }
    await log.close()
  })

  tape(`back-pressure: an async iterator reads when it is asked, and not ahead (${framing})`, async (t) => {
    const { log, counts } = await openCounting(framing)
    let seen = 0
    for await (const { value } of log.stream()) {
      t.equal(value.i, seen++)
      await sleep(0)
      if (counts.decoded !== seen) t.fail(`${counts.decoded} decoded, ${seen} asked for`)
      if (seen === 20) break
    }
    await sleep(5)
    t.equal(counts.decoded, 20, 'nothing is read after leaving the loop')
    await log.close()
  })

  tape(`back-pressure: Readable.from is one record more ahead than its highWaterMark says (${framing})`, async (t) => {
    const { log, counts } = await openCounting(framing)
    for (const highWaterMark of [1, 16]) {
      counts.decoded = 0
      const readable = Readable.from(log.stream(), { highWaterMark })
      let ahead = 0
      let seen = 0
      const slow = new Writable({
        objectMode: true,
        highWaterMark: 1,
        write: (item, encoding, cb) => {
          seen++
          setImmediate(() => {
            ahead = Math.max(ahead, counts.decoded - seen)
            cb(seen === 100 ? new Error('full') : null)
          })
        }
      })
      t.equal((await failureOf(() => pipeline(readable, slow))).message, 'full')
      t.ok(ahead <= highWaterMark + 1, `${ahead} ahead, with ${highWaterMark}`)
      t.ok(counts.decoded <= 100 + highWaterMark + 1, `${counts.decoded} decoded for 100`)
    }
    await log.close()
  })
}

tape('back-pressure: a stream that nobody reads reads nothing, and keeps nothing from closing', async (t) => {
  const { log, counts } = await openCounting('checked')
  const streams = []
  const kinds = [{}, { live: true }, { reverse: true }, { old: false }]
  for (let i = 0; i < 10000; i++) streams.push(log.stream(kinds[i % 4]))
  await sleep(5)
  t.equal(counts.calls, 0, 'no call of the storage')
  t.equal(log._file.waitingStreams.size, 0)
  await log.append('more')
  t.equal(counts.decoded, 0)
  const iterator = streams[1][Symbol.asyncIterator]()
  await log.close()
  t.equal((await failureOf(() => iterator.next())).code, 'ERR_LOG_CLOSED')
})

tape('async iteration: leaving a loop, throwing in it, and destroying a Readable end a live stream', async (t) => {
  const { log } = await openCounting('checked')
  const { since: { value: last } } = log
  const live = () => log.stream({ gte: last, live: true, seqs: false })
  for await (const { i } of live()) if (i === COUNT - 1) break
  const mine = new Error('mine')
  t.equal(await failureOf(async () => {
    for await (const { i } of live()) if (i === COUNT - 1) throw mine
  }), mine)

  const waiting = live()[Symbol.asyncIterator]()
  await waiting.next()
  const next = waiting.next()
  const after = waiting.next()
  t.deepEqual(await waiting.return('value'), { done: true, value: 'value' })
  t.deepEqual([await next, await after, await waiting.next()], Array(3).fill({ done: true, value: undefined }))

  const readable = Readable.from(live())
  await new Promise((resolve) => readable.once('data', resolve))
  readable.destroy()
  const failing = Readable.from(live())
  failing.once('data', () => failing.destroy(mine))
  t.equal(await new Promise((resolve) => failing.once('error', resolve)), mine)
  await sleep(5)
  t.equal(log._file.waitingStreams.size, 0, 'nothing waits for an append')
  await log.close()
})

tape('async iteration: a stream that fails rejects once, and is done then', async (t) => {
  const { log } = await openCounting('checked')
  const iterator = log.stream({ gt: 'a' })[Symbol.asyncIterator]()
  t.equal((await failureOf(() => iterator.next())).code, 'ERR_INVALID_ARGUMENT')
  t.deepEqual(await iterator.next(), { done: true, value: undefined })
  t.equal((await failureOf(() => Readable.from(log.stream({ limit: -3 })).toArray())).code, 'ERR_INVALID_ARGUMENT')
  await log.close()
})
