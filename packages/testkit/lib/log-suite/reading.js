'use strict'
// Tests the reading side of a log: get, streams, scans and live streams.

const pull = require('pull-stream')
const { Readable } = require('node:stream')
const { setTimeout: wait } = require('node:timers/promises')
const { inspect } = require('node:util')
const { failureOf } = require('../tools')
const { appendEach, collect, deleteSome, isSame, scanAll, seqBetween } = require('./helpers')

/** A codec that keeps the bytes it is given. Having no name, it can read logs of any codec. */
const bytes = {
  buffer: true,
  encode: (/** @type {Buffer} */ value) => value,
  decode: (/** @type {Buffer} */ value) => value
}

/** @param {import('../log-suite').Suite} suite */
function addReadTests ({ test }) {
  test('get: a seq that names no record is refused with a code, and nothing hangs', async (t, log) => {
    const [first, second] = await appendEach(log, ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'])
    for (const seq of [-1, seqBetween(first, second), 0.5, 1e15, Infinity]) {
      t.equal((await failureOf(() => log.get(seq))).code, 'ERR_RECORD_NOT_FOUND', String(seq))
    }
    for (const seq of ['0', null, undefined, {}]) {
      t.equal((await failureOf(() => log.get(seq))).code, 'ERR_INVALID_ARGUMENT', String(seq))
    }
    t.equal(await log.get(first), 'aaaaaaaaaaaa')
  })

  test('get: what it gave stays as it was, whatever happens to the log', async (t, log) => {
    const seq = await log.append(Buffer.from('first'))
    const got = await log.get(seq)
    const [{ value: streamed }] = await collect(log.stream())
    await log.append(Buffer.alloc(100000, 'x'))
    await deleteSome(log, [seq])
    await collect(log.stream())
    t.equal(String(got), 'first')
    t.equal(String(streamed), 'first')
    got.fill(0)
    t.equal((await log.get(await log.append(Buffer.from('second')))).toString(), 'second')
  }, { codec: bytes })

  test('codec: the log shows the one that it was given', async (t, log) => {
    t.equal(String(log.codec.encode(Buffer.from('a'))), 'a')
  }, { codec: bytes })

  test('console.log and JSON.stringify: show a few words of a log, not its insides', async (t, log) => {
    await log.append('a')
    t.ok(inspect(log).length < 400, inspect(log))
    t.ok(JSON.stringify({ log }).length < 400, JSON.stringify({ log }))
    t.equal(JSON.parse(JSON.stringify(log)).filename, log.filename)
  })

  test('stream: an empty log ends at once', async (t, log) => {
    t.deepEqual(await collect(log.stream()), [])
  })

  test('stream: seqs and values shape the items', async (t, log) => {
    const seqs = await appendEach(log, ['a', 'b'])
    t.deepEqual(await collect(log.stream()), [{ seq: seqs[0], value: 'a' }, { seq: seqs[1], value: 'b' }])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b'])
    t.deepEqual(await collect(log.stream({ values: false })), seqs)
  })

  test('stream: one that is not live ends where the log ended at the call', async (t, log) => {
    await log.append('a')
    const stream = log.stream({ seqs: false })
    await log.append('b')
    t.deepEqual(await collect(stream), ['a'])
  })

  test('stream: is async-iterable, and leaving the loop ends it', async (t, log) => {
    await log.append(['a', 'b', 'c'])
    const seen = []
    for await (const value of log.stream({ seqs: false })) {
      seen.push(value)
      if (value === 'b') break
    }
    t.deepEqual(seen, ['a', 'b'])
    t.deepEqual(await Readable.from(log.stream({ seqs: false })).toArray(), ['a', 'b', 'c'])
  })

  test('stream: async iteration asked for several items at once gives them in order', async (t, log) => {
    await log.append(['a', 'b', 'c'])
    const iterator = log.stream({ seqs: false })[Symbol.asyncIterator]()
    const items = await Promise.all([iterator.next(), iterator.next(), iterator.next(), iterator.next()])
    t.deepEqual(items.map(({ value }) => value), ['a', 'b', 'c', undefined])
    t.ok(items[3].done)
  })

  test('stream: an abort before, between and after reads ends it', async (t, log) => {
    await log.append(['a', 'b', 'c'])
    for (const reads of [0, 1, 3, 4]) {
      const source = log.stream({ seqs: false })
      for (let i = 0; i < reads; i++) await new Promise((resolve) => source(null, resolve))
      t.equal(await new Promise((resolve) => source(true, resolve)), true)
      t.equal(await new Promise((resolve) => source(null, resolve)), true)
    }
  })

  test('stream: an option that makes no sense ends it with a code', async (t, log) => {
    const wrong = [{ gt: 'a' }, { lt: NaN }, { limit: -2 }, { limit: 1.5 }, { live: true, reverse: true },
      { where: { path: 'a' } }, null]
    for (const options of wrong) {
      const err = await failureOf(() => collect(log.stream(options)))
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
      const scanErr = await failureOf(() => scanAll(log, /** @type {any} */ (options)))
      t.equal(scanErr?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
    }
  })

  test('stream: a record that does not decode ends it with its seq, after those before it', async (t, writer, create) => {
    const seqs = await appendEach(writer, ['"a"', '{oops', '"c"'].map((text) => Buffer.from(text)))
    await writer.close()
    const log = create()
    /** @type {unknown[]} */
    const seen = []
    const err = await new Promise((resolve) => {
      pull(log.stream({ seqs: false }), pull.drain((/** @type {any} */ value) => { seen.push(value) }, resolve))
    })
    t.deepEqual(seen, ['a'])
    t.equal(err.code, 'ERR_CODEC_DECODE')
    t.equal(err.offset, seqs[1])
    t.equal((await failureOf(() => log.get(seqs[1]))).code, 'ERR_CODEC_DECODE')
    t.equal(await log.get(seqs[2]), 'c')
  }, { codec: bytes })

  test('scan: delivers the bytes that stream decodes, under the same seqs', async (t, log) => {
    const values = Array.from({ length: 10000 }, (_, i) => ({ i, text: 'x'.repeat(i % 300) }))
    for (let i = 0; i < values.length; i += 500) await log.append(values.slice(i, i + 500))
    const scanned = await scanAll(log)
    const streamed = await collect(log.stream())
    t.ok(isSame(scanned.map(({ seq, bytes }) => ({ seq, value: JSON.parse(String(bytes)) })), streamed))
    t.ok(isSame(streamed.map(({ value }) => value), values))
  })

  test('scan: false ends it, what the function throws fails it', async (t, log) => {
    await log.append(['a', 'b'])
    let chunkCount = 0
    await log.scan({}, () => { chunkCount++; return false })
    t.equal(chunkCount, 1)
    const thrown = new Error('mine')
    t.equal(await failureOf(() => log.scan({}, () => { throw thrown })), thrown)
    t.equal((await failureOf(() => log.scan({}))).code, 'ERR_INVALID_ARGUMENT')
    t.equal((await failureOf(() => log.scan({ live: true }, () => {}))).code, 'ERR_INVALID_ARGUMENT')
  })

  test('scan: waits for a promise, and the run stays as it is until then', async (t, log) => {
    const values = Array.from({ length: 3000 }, (_, i) => ({ i, text: 'x'.repeat(400) }))
    for (let i = 0; i < values.length; i += 500) await log.append(values.slice(i, i + 500))
    /** @type {number[]} */
    const seen = []
    let running = 0
    await log.scan({}, async (/** @type {any} */ { buffer, count, starts, ends }) => {
      t.notOk(running++, 'one run at a time')
      await wait(1)
      for (let i = 0; i < count; i++) seen.push(JSON.parse(buffer.toString('utf8', starts[i], ends[i])).i)
      running--
    })
    t.deepEqual(seen, values.map(({ i }) => i))
    let runs = 0
    await log.scan({}, async () => { runs++; return false })
    t.equal(runs, 1, 'false ends the scan')
    const thrown = new Error('mine')
    t.equal(await failureOf(() => log.scan({}, async () => { throw thrown })), thrown)
    const controller = new AbortController()
    let release = () => {}
    const err = await failureOf(() => log.scan({ signal: controller.signal }, () => new Promise((resolve) => {
      release = () => resolve(true)
      controller.abort()
    })))
    t.equal(err.name, 'AbortError', 'an abort does not wait for the promise')
    release()
  })
}

/** @param {import('../log-suite').Suite} suite */
function addLiveTests ({ test }) {
  test('live: old records first, then new ones as they come', async (t, log) => {
    await log.append(['a', 'b'])
    const values = log.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
    t.equal((await values.next()).value, 'a')
    t.equal((await values.next()).value, 'b')
    const third = values.next()
    await log.append('c')
    t.equal((await third).value, 'c')
    const fourth = values.next()
    t.ok((await values.return()).done, 'an abort does not wait for an append')
    t.ok((await fourth).done, 'and ends the read that waited')
  })

  test('live: old: false begins with what is appended after the call', async (t, log) => {
    await log.append('a')
    const values = log.stream({ old: false, seqs: false })[Symbol.asyncIterator]()
    await log.append('b')
    t.equal((await values.next()).value, 'b')
    await log.append(['c', 'd'])
    t.equal((await values.next()).value, 'c')
    t.equal((await values.next()).value, 'd')
    await values.return()
  })

  test('live: a lower bound past the end waits for it', async (t, log) => {
    const first = await log.append('a')
    const values = log.stream({ gt: first + 0.5, live: true, seqs: false })[Symbol.asyncIterator]()
    const next = values.next()
    await log.append('b')
    t.equal((await next).value, 'b')
    await values.return()
  })

  test('live: ends when an upper bound is passed, and at a limit', async (t, log) => {
    const first = await log.append('a')
    const bounded = collect(log.stream({ live: true, lte: first, seqs: false }))
    const limited = collect(log.stream({ live: true, limit: 2, seqs: false }))
    await log.append(['b', 'c'])
    t.deepEqual(await bounded, ['a'])
    t.deepEqual(await limited, ['a', 'b'])
  })

  test('live: a filter and deleted records do not end it', async (t, log) => {
    const values = log.stream({ live: true, seqs: false, where: { path: ['n'], equals: 3 } })[Symbol.asyncIterator]()
    const next = values.next()
    for (const n of [1, 2, 3]) await log.append({ n })
    t.deepEqual((await next).value, { n: 3 })
    await values.return()
  })

  test('live: many readers each see every record, in order', async (t, log) => {
    const readers = Array.from({ length: 10 }, () => collect(log.stream({ live: true, limit: 300, seqs: false })))
    const values = Array.from({ length: 300 }, (_, i) => i)
    for (const value of values) log.append(value)
    for (const seen of await Promise.all(readers)) t.deepEqual(seen, values)
  })

  test('live: closing the log ends it', async (t, log) => {
    await log.append('a')
    const seen = collect(log.stream({ live: true, seqs: false }))
    await new Promise((resolve) => setTimeout(resolve, 10))
    await log.close()
    t.deepEqual(await seen, ['a'])
  })
}

exports.addReadTests = addReadTests
exports.addLiveTests = addLiveTests
