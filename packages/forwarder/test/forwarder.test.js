'use strict'
// A forwarder and a sink that works: what arrives, in which batches, and what the calls promise.

const fs = require('node:fs')
const path = require('node:path')
const { spawnSync } = require('node:child_process')
const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { collect, failureOf, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { Forwarder, refused } = require('..')
const { createCollector, fill, forward, makeLog, range } = require('./helpers')

/** @type {(options?: object, folder?: string) => any} */
function makeSegments (options, folder = newPath('log')) {
  return SegmentedLog(folder, { codec: jsonCodec, ...options })
}

tape('forwarder: what was in the log, and what is appended, arrives in order, once', async (t) => {
  const log = makeLog()
  await fill(log, 1200)
  const sink = createCollector()
  const forwarder = forward(log, { sink })
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 1200))
  t.deepEqual(sink.batches.map(({ length }) => length), [500, 500, 200])
  for (let n = 1200; n < 1300; n++) await log.append({ n })
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 1300))
  const { forwarded, refused, failures, seq, lastError } = forwarder.stats()
  t.deepEqual([forwarded, refused, failures, seq, lastError], [1300, 0, 0, log.since.value, null])
  t.deepEqual(await forwarder.close(), { isDrained: true })
  t.deepEqual(forwarder.reports, [])
  await log.close()
})

tape('forwarder: another one of the same name goes on where it ended', async (t) => {
  const log = makeLog()
  const sink = createCollector()
  for (let round = 0; round < 5; round++) {
    await fill(log, 10, round * 10)
    const forwarder = forward(log, { sink, name: 'again' })
    await forwarder.drained()
    t.equal(forwarder.stats().forwarded, (round + 1) * 10)
    await forwarder.close()
  }
  t.deepEqual(sink.all, range(0, 50))
  t.equal(new Set(sink.keys).size, 5)
  const { id } = await log.stats()
  t.ok(sink.keys.every((key) => key.startsWith(`${id}-`)))
  await log.close()
})

tape('batch: by count, by bytes, by age, and a larger record alone', async (t) => {
  const log = makeLog()
  await log.append([{ n: 0 }, { n: 1 }, { n: 2, text: 'x'.repeat(300) }, { n: 3 }, { n: 4 }, { n: 5 }, { n: 6 }])
  const bySize = createCollector()
  const forwarder = forward(log, { sink: bySize, name: 'size', batch: { size: 20, count: 3, ageMs: 60_000 } })
  await forwarder.drained()
  t.deepEqual(bySize.batches, [[0, 1], [2], [3, 4], [5, 6]])
  await forwarder.close()
  const byCount = createCollector()
  const second = forward(log, { sink: byCount, name: 'count', start: 'next', batch: { count: 3, ageMs: 3_600_000 } })
  await second.ready()
  for (const n of [7, 8, 9]) await log.append({ n })
  await until(() => byCount.batches.length > 0)
  t.deepEqual(byCount.batches, [[7, 8, 9]], 'waits for more')
  await second.close()
  const byAge = createCollector()
  const third = forward(log, { sink: byAge, name: 'age', start: 'next', batch: { count: 3, ageMs: 50 } })
  await third.ready()
  await log.append([{ n: 10 }, { n: 11 }])
  await until(() => byAge.batches.length > 0)
  t.deepEqual(byAge.batches, [[10, 11]], 'but not longer')
  await log.append([{ n: 12 }, { n: 13 }, { n: 14 }])
  await until(() => byAge.all.length === 5)
  t.deepEqual(byAge.batches[1], [12, 13, 14], 'full')
  await third.close()
  await log.close()
})

tape('forwarder: several on one log, each at its own pace, and one at a time of a name', async (t) => {
  const log = makeLog()
  await fill(log, 100)
  const fast = createCollector()
  const stuck = forward(log, { sink: () => new Promise(() => {}), name: 'stuck' })
  const forwarder = forward(log, { sink: fast, name: 'fast' })
  await forwarder.drained()
  t.deepEqual(fast.all, range(0, 100))
  await until(() => stuck.state.value === 'sending')
  const third = forward(log, { sink: fast, name: 'fast' })
  const err = await failureOf(() => third.ready())
  t.equal(err.code, 'ERR_LOG_LOCKED')
  const { host, pid, since } = err.holder
  t.equal(err.message, 'open: another forwarder has the name "fast"; close it, or give this one another name: ' +
    `process ${pid} on ${host}, since ${since}`)
  t.deepEqual([pid, err.cause.code, err.cause.path], [process.pid, 'ERR_LOG_LOCKED', err.path], 'the cause is the error of the lock')
  t.notOk(/flags/.test(err.message), err.message)
  const fourth = forward(log, { sink: fast, name: 'fourth', path: `${log.filename}.fast` })
  t.match((await failureOf(() => fourth.ready())).message, /^open: another forwarder has the path ".*fast"; close it, or give this one another path: /)
  await fourth.close()
  t.equal((await failureOf(() => third.drained())).code, 'ERR_LOG_LOCKED')
  await third.close()
  t.equal(third.state.value, 'closed')
  await forwarder.close()
  t.deepEqual(await stuck.close(), { isDrained: false }, 'a sink that never answers does not keep it from closing')
  await log.close()
})

tape('start: "next" leaves out what the log has, and only without a cursor', async (t) => {
  const log = makeLog()
  await fill(log, 10)
  const sink = createCollector()
  for (const first of [10, 20]) {
    const forwarder = forward(log, { sink, start: 'next' })
    await forwarder.ready()
    await fill(log, 5, first)
    await forwarder.drained()
    await forwarder.close()
    await fill(log, 5, first + 5)
  }
  t.deepEqual(sink.all, range(10, 25), 'the second one goes on where the first one ended')
  await log.close()
})

tape('pause: nothing is sent until resume; a batch that is being sent is finished', async (t) => {
  const log = makeLog()
  const sink = createCollector()
  let release = () => {}
  const slow = async (records, context) => {
    await new Promise((resolve) => { release = resolve })
    await sink.send(records, context)
  }
  const forwarder = forward(log, { sink: slow })
  await fill(log, 5)
  await until(() => forwarder.state.value === 'sending')
  const paused = forwarder.pause()
  await fill(log, 5, 5)
  release()
  await paused
  t.equal(forwarder.state.value, 'paused')
  t.deepEqual(sink.all, range(0, 5))
  t.equal(forwarder.stats().forwarded, 5, 'and counted')
  await forwarder.resume()
  await until(() => forwarder.state.value === 'sending')
  release()
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 10))
  await forwarder.pause()
  await fill(log, 5, 10)
  t.deepEqual(await forwarder.close({ drain: 60_000 }), { isDrained: false }, 'a paused one does not drain')
  await log.close()
})

tape('close: with drain it goes on until all is sent, or the time is over', async (t) => {
  const log = makeLog()
  const sink = createCollector()
  const forwarder = forward(log, { sink, batch: { count: 10, ageMs: 60_000 } })
  await forwarder.ready()
  await fill(log, 105)
  t.deepEqual(await forwarder.close({ drain: 60_000 }), { isDrained: true })
  t.deepEqual(sink.all, range(0, 105))
  await fill(log, 10, 105)
  const down = forward(log, { sink: async () => { throw new Error('down') } })
  await down.ready()
  const drained = failureOf(() => down.drained())
  t.deepEqual(await down.close({ drain: 50 }), { isDrained: false })
  t.equal((await drained).code, 'ERR_FORWARDER_CLOSED')
  t.equal((await failureOf(() => down.drained())).code, 'ERR_FORWARDER_CLOSED')
  for (const wrong of [{ drain: '1' }, { drian: 1 }, [], 1]) {
    t.equal((await failureOf(() => down.close(wrong)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(wrong))
  }
  await down.close()
  await log.close()
})

tape('close: with drain it sends all also if it is called before the cursor is open', async (t) => {
  const log = makeLog()
  await fill(log, 5)
  const sink = createCollector()
  t.deepEqual(await forward(log, { sink }).close({ drain: 60_000 }), { isDrained: true })
  t.deepEqual(sink.all, range(0, 5))
  await fill(log, 5, 5)
  const twice = forward(log, { sink })
  const answers = await Promise.all([twice.close({ drain: 60_000 }), twice.close({ drain: 60_000 })])
  t.deepEqual([answers.at(-1), sink.all], [{ isDrained: true }, range(0, 10)])
  await fill(log, 5, 10)
  const held = forward(log, { sink })
  await held.ready()
  t.deepEqual(await forward(log, { sink }).close({ drain: 60_000 }), { isDrained: false }, 'one that cannot open')
  t.deepEqual(await held.close({ drain: 60_000 }), { isDrained: true })
  const cut = forward(log, { sink })
  const [waiting] = [cut.close({ drain: 60_000 }), cut.close()]
  await waiting
  t.deepEqual(sink.all, range(0, 15))
  await log.close()
})

tape('lag: records, bytes and age behind, exact without a sink that works', async (t) => {
  const log = makeLog()
  const aMinuteAgo = Date.now() - 60_000
  await log.append(range(0, 3000).map((n) => ({ n, time: aMinuteAgo })))
  let isDown = true
  const forwarder = forward(log, { sink: async () => { if (isDown) throw new Error('down') }, lagMs: 10 })
  await until(() => forwarder.lag.value?.records === 3000 && forwarder.lag.value.ageMs > 0)
  const { size, ageMs } = forwarder.lag.value
  let expected = 0
  await log.scan({}, ({ count, starts, ends }) => { for (let i = 0; i < count; i++) expected += ends[i] - starts[i] })
  t.equal(size, expected)
  t.ok(ageMs >= 60_000 && ageMs < 120_000, `${ageMs}`)
  await fill(log, 500, 3000)
  await until(() => forwarder.lag.value.records === 3500)
  isDown = false
  await forwarder.drained()
  await until(() => forwarder.lag.value.records === 0)
  t.deepEqual(forwarder.lag.value, { records: 0, size: 0, ageMs: 0 })
  await forwarder.close()
  await log.close()
})

tape('forwarder: deleted records are left out, and nobody waits for them', async (t) => {
  const log = makeLog()
  await fill(log, 10)
  const seqs = await collect(log.stream({ values: false }))
  await log.del([seqs[0], seqs[4], seqs[9]])
  const sink = createCollector()
  const forwarder = forward(log, { sink })
  await forwarder.drained()
  t.deepEqual(sink.all, [1, 2, 3, 5, 6, 7, 8])
  await log.del(seqs[8])
  await forwarder.close()
  await fill(log, 1, 10)
  const again = forward(log, { sink })
  await again.drained()
  t.deepEqual(sink.all, [1, 2, 3, 5, 6, 7, 8, 10], 'the record at the cursor may be deleted too')
  t.deepEqual(again.reports, [])
  await again.close()
  await log.close()
})

tape('forwarder: the last records are deleted, and the log is opened again: nothing is sent again', async (t) => {
  for (const make of [makeLog, makeSegments]) {
    const log = make()
    await fill(log, 5)
    const sink = createCollector()
    const forwarder = forward(log, { sink })
    await forwarder.drained()
    await forwarder.close()
    const seqs = await collect(log.stream({ values: false }))
    await log.del(seqs.slice(3))
    await log.close()
    const reopened = make({}, log.filename)
    await reopened.ready()
    t.equal(reopened.since.value, seqs[2], 'the log ends before the cursor')
    const again = forward(reopened, { sink })
    await again.drained()
    t.deepEqual(again.reports, [])
    await fill(reopened, 1, 5)
    await again.drained()
    t.deepEqual(sink.all, [0, 1, 2, 3, 4, 5])
    await again.close()
    await reopened.close()
  }
})

tape('forwarder: records that do not decode are set aside as bytes', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const file = newPath('log')
    const codec = { encode: (text) => Buffer.from(text), decode: String, buffer: true }
    const plain = OffsetLog(file, { framing, codec })
    await plain.append(['{"n":1}', 'no JSON', '{"n":2}', 'nor this', 'nor that', '{"n":3}'])
    await plain.close()
    const log = makeLog({}, file)
    const sink = createCollector()
    const forwarder = forward(log, { sink })
    await forwarder.drained()
    t.deepEqual(sink.all, [1, 2, 3])
    t.deepEqual([forwarder.stats().forwarded, forwarder.stats().refused], [3, 3])
    await forwarder.close()
    const aside = makeLog({ flags: 'r' }, `${file}.default.refused`)
    const bytes = (await collect(aside.stream())).map(({ value }) => Buffer.from(value.bytes, 'base64').toString())
    t.deepEqual(bytes, ['no JSON', 'nor this', 'nor that'])
    await aside.close()
    await log.close()
  }
})

tape('forwarder: any codec, and values that JSON cannot hold', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: binaryCodec })
  await log.append([{ at: new Date(5), big: 2n ** 70n }, { at: new Date(6), big: 1n }])
  const seen = []
  const forwarder = forward(log, { sink: (records) => { seen.push(...records.map(({ value }) => value)) } })
  await forwarder.drained()
  t.deepEqual(seen, [{ at: new Date(5), big: 2n ** 70n }, { at: new Date(6), big: 1n }])
  await forwarder.close()
  await log.close()
})

tape('forwarder: follows a log that another writer appends to', async (t) => {
  const writer = makeLog()
  await fill(writer, 10)
  const log = makeLog({ flags: 'r' }, writer.filename)
  const sink = createCollector()
  const forwarder = forward(log, { sink })
  await until(() => sink.all.length === 10)
  await fill(writer, 10, 10)
  await until(() => sink.all.length === 20)
  await writer.compact()
  await fill(writer, 10, 20)
  await until(() => sink.all.length === 30)
  t.deepEqual(sink.all, range(0, 30))
  await forwarder.close()
  await log.close()
  await writer.close()
})

for (const [kind, open] of Object.entries({ 'a file': makeLog, segments: makeSegments })) {
  tape(`drained: of a log that another writer appends to, everything that was appended before the call, ${kind}`, async (t) => {
    const writer = open()
    await fill(writer, 10)
    const log = open({ flags: 'r' }, writer.filename)
    const sink = createCollector()
    const forwarder = forward(log, { sink })
    for (let first = 10; first < 200; first += 10) {
      if (kind === 'segments' && first % 20 === 0) await writer.roll()
      await fill(writer, 10, first)
      await forwarder.drained()
      if (sink.all.length !== first + 10) t.fail(`${sink.all.length} of ${first + 10}`)
    }
    await fill(writer, 10, 200)
    t.deepEqual(await forwarder.close({ drain: 60_000 }), { isDrained: true })
    t.deepEqual(sink.all, range(0, 210), 'also at close')
    const next = forward(log, { sink: () => new Promise(() => {}) })
    await next.ready()
    await fill(writer, 10, 210)
    t.deepEqual(await next.close(), { isDrained: false })
    await log.close()
    await writer.close()
  })
}

tape('forwarder: a log that is closed ends it, and gives the cursor back', async (t) => {
  const log = makeLog()
  await fill(log, 10)
  const forwarder = forward(log, { sink: () => new Promise((resolve) => setTimeout(resolve, 5)), batch: { count: 1 } })
  await forwarder.ready()
  await until(() => forwarder.stats().forwarded > 0)
  await forwarder.pause()
  const drained = failureOf(() => forwarder.drained())
  await new Promise(setImmediate)
  await log.close()
  forwarder.resume()
  // All ten records are in memory: they are still sent.
  await drained
  await forwarder.close()
  t.ok(forwarder.stats().forwarded === 10)

  const again = makeLog({}, log.filename)
  await fill(again, 1, 10)
  again.scan = async () => { throw Object.assign(new Error('closed'), { code: 'ERR_LOG_CLOSED' }) }
  const second = forward(again, { sink: async () => {} })
  t.equal((await failureOf(() => second.drained())).code, 'ERR_LOG_CLOSED')
  await until(() => second.state.value === 'closed')
  await again.close()
})

tape('hold: a log that keeps records for its forwarders hears what is still needed', async (t) => {
  const log = makeLog()
  const holds = []
  log.hold = async (name, seq) => {
    if (name === 'reader') throw Object.assign(new Error('read-only'), { code: 'ERR_LOG_READ_ONLY' })
    holds.push([name, seq])
  }
  await fill(log, 10)
  const forwarder = forward(log, { sink: async () => {}, name: 'holder', fsync: 'always', batch: { count: 5 } })
  await forwarder.drained()
  t.deepEqual(holds[0], ['holder', 0], 'before anything is forwarded')
  t.deepEqual(holds.at(-1), ['holder', log.since.value])
  t.equal(holds.length, 3, 'once a batch')
  const reader = forward(log, { sink: async () => {}, name: 'reader' })
  await reader.drained()
  t.deepEqual(reader.reports, [], 'one that may not ask does without')
  await reader.close()
  await forwarder.close()
  await log.close()
})

tape('hold: a log that cannot keep records fails ready, which waited as long as that', async (t) => {
  const log = makeLog()
  await fill(log, 10)
  let [left, sent] = [Infinity, 0]
  log.hold = async () => {
    if (left-- > 0) throw Object.assign(new Error('no room'), { code: 'ENOSPC' })
  }
  const options = { sink: async (records) => { sent += records.length }, backoff: { minMs: 1, maxMs: 2 } }
  const full = forward(log, options)
  t.equal((await failureOf(() => full.ready())).code, 'ENOSPC')
  t.deepEqual([sent, full.state.value], [0, 'closed'])
  t.equal((await failureOf(() => full.drained())).code, 'ENOSPC')
  await full.close()
  left = 2
  const again = forward(log, options)
  await again.drained()
  t.deepEqual([sent, again.reports.map(({ what }) => what)], [10, ['retry', 'retry', 'recovered']], 'one that passes does no harm')
  await again.close()
  await log.close()
})

tape('unref: the process ends while the forwarder waits, and otherwise goes on', async (t) => {
  const script = `
    const { OffsetLog } = require('@millrace/offset-log')
    const { Forwarder } = require('@millrace/forwarder')
    const log = OffsetLog(process.argv[1], { codec: require('@millrace/json-codec').jsonCodec })
    const unref = process.argv[2] === 'unref'
    const forwarder = Forwarder(log, { sink: async () => { throw new Error('down') }, unref, backoff: { minMs: 60000 } })
    log.append({ n: 1 })
    forwarder.state((state) => { if (state === 'waiting' && !unref) setTimeout(() => process.exit(7), 50) })`
  for (const [word, status] of [['unref', 0], ['ref', 7]]) {
    const folder = temporaryFolder()
    const run = spawnSync(process.execPath, ['-e', script, path.join(folder, 'log'), word], { cwd: __dirname, encoding: 'utf8' })
    t.equal(run.status, status, `${word} ${run.stderr}`)
    t.ok(run.stderr.includes('ForwarderWarning') || word === 'unref', 'the failure is a warning of the process')
    t.ok(fs.existsSync(path.join(folder, 'log.default.cursor')))
  }
})

tape('unref: a program that waits in drained or pause goes on after it, though nothing else keeps it running', async (t) => {
  const script = `
    const { OffsetLog } = require('@millrace/offset-log')
    const { Forwarder } = require('@millrace/forwarder')
    async function main ([, file, call]) {
      const log = OffsetLog(file, { codec: require('@millrace/json-codec').jsonCodec })
      await log.append({ n: 1 })
      let count = 0
      const sink = async () => { if (count++ < 3) throw new Error('down') }
      const forwarder = Forwarder(log, { sink, unref: true, backoff: { minMs: 50 } })
      if (call === 'pause') await forwarder.pause()
      else await forwarder.drained(call === 'drained' ? {} : { unref: true })
      console.log('went on')
      await forwarder.close()
    }
    main(process.argv)`
  for (const [call, output] of [['drained', 'went on\n'], ['drained, unref', ''], ['pause', 'went on\n']]) {
    const run = spawnSync(process.execPath, ['-e', script, newPath('log'), call], { cwd: __dirname, encoding: 'utf8' })
    t.equal(run.stdout, output, `${call} ${run.stderr}`)
  }
})

tape('mode: of the cursor and of the log of refused records', { skip: process.platform === 'win32' }, async (t) => {
  const log = makeLog()
  await fill(log, 3)
  const before = process.umask(0)
  try {
    for (const [name, options, expected] of [['own', {}, '600'], ['shared', { mode: 0o640 }, '640']]) {
      const forwarder = forward(log, { sink: async () => { throw refused('no') }, name, ...options })
      await forwarder.drained()
      await forwarder.close()
      for (const end of ['cursor', 'refused']) {
        t.equal((fs.statSync(`${log.filename}.${name}.${end}`).mode & 0o777).toString(8), expected, `${end} of ${name}`)
      }
    }
  } finally {
    process.umask(before)
  }
  await log.close()
})

tape('await using, without new and with it, are one', async (t) => {
  const log = makeLog()
  const forwarder = new Forwarder(log, { sink: async () => {} })
  t.ok(forwarder instanceof Forwarder)
  await forwarder[Symbol.asyncDispose]()
  t.equal(forwarder.state.value, 'closed')
  await log.close()
})

tape('forwarder: misuse throws at once', async (t) => {
  const log = makeLog()
  const sink = async () => {}
  const wrong = [undefined, null, {}, { sink: 5 }, { sink, nme: 'x' }, { sink, name: '' }, { sink, name: 'a/b' }, { sink, name: 5 },
    { sink, path: '' }, { sink, start: 'last' }, { sink, batch: { count: 0 } }, { sink, batch: { counts: 1 } }, { sink, batch: 5 },
    { sink, backoff: { minMs: 10, maxMs: 5 } }, { sink, fsync: 'never' }, { sink, refused: 5 }, { sink, timeOf: 5 },
    { sink, lagMs: -1 }, { sink, onReport: 5 }, { sink, unref: 1 }, { sink, mode: 640 }, { sink, storage: {} }]
  for (const options of wrong) {
    t.throws(() => Forwarder(log, options), (err) => err.code === 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
  }
  t.throws(() => Forwarder({}, { sink }), (err) => err.code === 'ERR_INVALID_ARGUMENT')
  await log.close()
})
