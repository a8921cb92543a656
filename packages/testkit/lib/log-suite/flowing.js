'use strict'
// The part of the log suite about streams of Node.js, pull-stream sinks, and what waits to be appended.

const { once } = require('node:events')
const { PassThrough, Readable, Writable } = require('node:stream')
const { pipeline } = require('node:stream/promises')
const pull = require('pull-stream')
const { failureOf, until } = require('../tools')
const { appendEach, collect } = require('./helpers')

const VALUES = Array.from({ length: 1000 }, (_, n) => ({ n, text: 'x'.repeat(n % 50) }))
/** JSON cannot hold it. */
const UNENCODABLE = 10n

/** @param {import('../log-suite').Suite} suite */
function addFlowTests (suite) {
  addReadableTests(suite)
  addWritableTests(suite)
  addPendingTests(suite)
}

/** @param {unknown[]} items */
function collectInto (items) {
  return new Writable({
    objectMode: true,
    write (item, encoding, cb) {
      items.push(item)
      setImmediate(cb)
    }
  })
}

/** @param {import('../log-suite').Suite} suite */
function addReadableTests ({ test }) {
  test('pipeline: takes a stream, a readable and an iterator', async (t, log) => {
    await log.append(VALUES)
    const options = { seqs: false }
    for (const source of [log.stream(options), log.toReadable(options), log.stream(options)[Symbol.asyncIterator]()]) {
      /** @type {unknown[]} */
      const items = []
      await pipeline(source, collectInto(items))
      t.deepEqual(items, VALUES)
    }
  })

  test('pipeline: what fails after it ends a live stream', async (t, log) => {
    await log.append('a')
    const failure = new Error('mine')
    const failing = () => new Writable({ objectMode: true, write: (item, encoding, cb) => cb(failure) })
    for (const source of [log.stream({ live: true }), log.toReadable({ live: true })]) {
      t.equal(await failureOf(() => pipeline(source, failing())), failure)
    }
    const controller = new AbortController()
    const piped = failureOf(() => pipeline(log.stream({ live: true }), collectInto([]), { signal: controller.signal }))
    setTimeout(() => controller.abort(), 5)
    t.equal((await piped)?.code, 'ABORT_ERR')
    await log.close()
  })

  test('stream: what is no callback is refused, with a word of toReadable', async (t, log) => {
    const source = log.stream()
    t.throws(() => source(null, 7), /toReadable/)
  })

  test('toReadable: reads, ends, is left, and goes on live', async (t, log) => {
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    t.deepEqual(await log.toReadable().toArray(), ['a', 'b', 'c'].map((value, i) => ({ seq: seqs[i], value })))
    t.deepEqual(await log.toReadable({ values: false, reverse: true, highWaterMark: 1 }).toArray(), [...seqs].reverse())
    const left = log.toReadable({ seqs: false })
    for await (const value of left) if (value === 'b') break
    t.ok(left.destroyed)
    const live = log.toReadable({ live: true, seqs: false, gt: seqs[2] })
    const data = once(live, 'data')
    await log.append('d')
    t.deepEqual(await data, ['d'])
    live.resume()
    const ended = once(live, 'end')
    await log.close()
    await ended
  })

  test('toReadable: is destroyed with what fails it', async (t, log) => {
    await log.append(null)
    t.equal((await failureOf(() => log.toReadable({ seqs: false }).toArray()))?.code, 'ERR_NOT_SUPPORTED', 'null would end it')
    t.equal((await log.toReadable().toArray()).length, 1)
    t.equal((await failureOf(() => log.toReadable({ gt: 'a' }).toArray()))?.code, 'ERR_INVALID_ARGUMENT')
    t.equal((await failureOf(() => log.toReadable({ highWaterMark: -1 }).toArray()))?.code, 'ERR_INVALID_ARGUMENT')
  })
}

/** @param {import('../log-suite').Suite} suite */
function addWritableTests ({ test }) {
  test('toWritable and toSink: append all values in order, an array as a batch', async (t, log) => {
    const items = [...VALUES.slice(0, 500), VALUES.slice(500, 510), ...VALUES.slice(510)]
    await pipeline(Readable.from(items), log.toWritable({ flush: true }))
    t.deepEqual(await collect(log.stream({ seqs: false })), VALUES)
    await new Promise((resolve, reject) => {
      pull(pull.values(items), log.toSink((/** @type {any} */ err) => err ? reject(err) : resolve(null)))
    })
    t.deepEqual(await collect(log.stream({ seqs: false })), [...VALUES, ...VALUES])
    await pipeline(Readable.from(items), new PassThrough({ objectMode: true }), log.toWritable({ highWaterMark: 1 }))
    t.equal(await log.count(), 3 * VALUES.length)
  })

  test('toWritable and toSink: what comes before a value that cannot be appended is there, nothing after it', async (t, log) => {
    const items = [1, 2, [3, 4], UNENCODABLE, 5, 6]
    t.equal((await failureOf(() => pipeline(Readable.from(items), log.toWritable())))?.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(await collect(log.stream({ seqs: false })), [1, 2, 3, 4])
    let aborted = null
    const values = pull.values(items)
    const source = (/** @type {any} */ abort, /** @type {any} */ cb) => {
      if (abort) aborted = abort
      values(abort, cb)
    }
    const err = await new Promise((resolve) => pull(source, log.toSink(resolve)))
    t.equal(err.code, 'ERR_CODEC_ENCODE')
    t.ok(aborted === null || aborted === err)
    t.deepEqual(await collect(log.stream({ seqs: false })), [1, 2, 3, 4, 1, 2, 3, 4])
    t.equal((await failureOf(() => pipeline(Readable.from([[7, [UNENCODABLE]]]), log.toWritable())))?.code, 'ERR_CODEC_ENCODE')
    t.equal(await log.count(), 8, 'a batch is there as a whole or not at all')
  })

  test('toWritable and toSink: a hole in a batch fails it, as append does, whatever it is written with', async (t, log) => {
    // eslint-disable-next-line no-sparse-arrays
    const items = [[0], [1, , 2], [3]]
    t.equal((await failureOf(() => log.append(items[1])))?.code, 'ERR_CODEC_ENCODE')
    const writable = log.toWritable()
    writable.cork()
    for (const item of items) writable.write(item)
    const failed = once(writable, 'error')
    writable.uncork()
    t.equal((await failed)[0].code, 'ERR_CODEC_ENCODE')
    const err = await new Promise((resolve) => pull(pull.values(items), log.toSink(resolve)))
    t.equal(err?.code, 'ERR_CODEC_ENCODE')
    t.deepEqual(await collect(log.stream({ seqs: false })), [0, 0])
  })

  test('toSink: a source that fails fails it, after what it gave', async (t, log) => {
    const failure = new Error('mine')
    let left = 3
    const source = (/** @type {any} */ abort, /** @type {any} */ cb) => {
      if (abort || left === 0) cb(abort || failure)
      else cb(null, left--)
    }
    t.equal(await new Promise((resolve) => pull(source, log.toSink(resolve))), failure)
    t.deepEqual(await collect(log.stream({ seqs: false })), [3, 2, 1])
  })

  test('toWritable: a signal destroys it, options are checked', async (t, log) => {
    const controller = new AbortController()
    const writable = log.toWritable({ signal: controller.signal })
    const failed = once(writable, 'error')
    controller.abort()
    t.equal((await failed)[0].code, 'ABORT_ERR')
    for (const options of [null, { flsh: true }, { flush: 1 }, { highWaterMark: 'a' }, { signal: 1 }]) {
      t.equal((await failureOf(async () => log.toWritable(options)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
    }
    t.equal((await failureOf(async () => log.toSink(7)))?.code, 'ERR_INVALID_ARGUMENT')
  })
}

/** @param {import('../log-suite').Suite} suite */
function addPendingTests ({ test }) {
  const value = 'x'.repeat(100_000)

  test('drained: tells who does not wait for appends when to go on', async (t, log) => {
    let pendingMax = 0
    const appended = []
    for (let i = 0; i < 100; i++) {
      appended.push(log.append(value))
      pendingMax = Math.max(pendingMax, log.pendingSize)
      if (log.needsDrain) await log.drained()
      t.notOk(log.needsDrain && i < 5)
    }
    t.ok(pendingMax > value.length && pendingMax < 40 * value.length, `${pendingMax} bytes waited at most`)
    await Promise.all(appended)
    await log.drained()
    await log.sync()
    t.equal(log.pendingSize, 0)
    t.notOk(log.needsDrain)
  })

  test('drained: answers if it is called before the log is open, between appends', async (t, log) => {
    const done = [log.append('a'), log.drained(), log.append('b'), log.drained()]
    let isDone = false
    Promise.all(done).then(() => { isDone = true })
    await until(() => isDone)
    t.equal(log.pendingSize, 0)
  })

  test('pendingSize: counts what waits for the log to open, and what fails', async (t, log, create) => {
    const results = Promise.allSettled([log.append('abc'), log.append(['abc', 'abc'])])
    t.ok(log.pendingSize > 0)
    await results
    await log.sync()
    t.equal(log.pendingSize, 0)
    await log.close()
    const closed = create()
    const closing = closed.close()
    await failureOf(() => closed.append('abc'))
    await closing
    t.equal(closed.pendingSize, 0)
  })

  test('pendingSize: a record without bytes counts as one that waits', async (t, log) => {
    await log.ready()
    const appending = log.append('').then(() => true, () => false)
    const { pendingSize } = log
    // Some framings refuse it.
    if (await appending) t.ok(pendingSize > 0)
    t.equal(log.pendingSize, 0)
  }, { codec: { encode: () => '', decode: () => '' } })

  test('maxPendingSize: refuses what is appended while too much waits, and nothing else', async (t, log) => {
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => log.append(value)))
    const refused = results.filter(({ status }) => status === 'rejected')
    t.equal(await log.count(), 50 - refused.length)
    t.ok(refused.length > 20 && refused.length < 49, `${refused.length} refused`)
    t.ok(refused.every((/** @type {any} */ { reason }) => reason.code === 'ERR_LOG_OVERLOADED'))
    for (let i = 0; i < 10; i++) await log.append(value.repeat(10))
    await pipeline(Readable.from(Array.from({ length: 50 }, () => value)), log.toWritable({ highWaterMark: 50 }))
    t.equal(await log.count(), 50 - refused.length + 60)
  }, { maxPendingSize: 1_000_000 })

  test('maxPendingSize: what has called back does not wait, so its callback may append', async (t, log) => {
    /** @type {(value: string, then?: () => void) => Promise<void>} */
    const append = (value, then) => new Promise((resolve, reject) => {
      log.append(value, (/** @type {Error | null} */ err) => {
        if (then) then()
        if (err) reject(err)
        else resolve()
      })
    })
    /** @type {Array<Promise<void>>} */
    const more = []
    /** @type {number[]} */
    const pendingSizes = []
    await append(value, () => {
      pendingSizes.push(log.pendingSize)
      more.push(append(value, () => more.push(append('c'))))
    })
    await more[0]
    await more[1]
    t.equal(pendingSizes[0], 0)
    t.equal(await log.count(), 3)
  }, { maxPendingSize: 1000 })
}

exports.addFlowTests = addFlowTests
