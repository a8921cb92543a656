'use strict'
// The part of the log suite about what ends a call or a stream before its time: signals, and `await using`.

const { getEventListeners, once } = require('node:events')
const { failureOf, inQuickRuns } = require('../tools')
const { appendEach, collect } = require('./helpers')

const MANY = inQuickRuns(10_000, 5)

/** @param {import('../log-suite').Suite} suite */
function addEndingTests ({ test }) {
  /** @type {Record<string, (log: any, seq: number, signal: any) => Promise<any>>} */
  const reads = {
    get: (log, seq, signal) => log.get(seq, { signal }),
    getMany: (log, seq, signal) => log.getMany([seq], { signal }),
    first: (log, seq, signal) => log.first({ signal }),
    last: (log, seq, signal) => log.last({ signal }),
    count: (log, seq, signal) => log.count({ signal }),
    scan: (log, seq, signal) => log.scan({ signal }, () => {}),
    stream: (log, seq, signal) => collect(log.stream({ signal })),
    iteration: (log, seq, signal) => drain(log.stream({ signal })),
    toReadable: (log, seq, signal) => drain(log.toReadable({ signal }))
  }

  test('signal: one that was aborted before ends every read', async (t, log) => {
    const seq = await log.append('a')
    const reason = new Error('mine')
    for (const [name, read] of Object.entries(reads)) {
      const err = await failureOf(() => read(log, seq, AbortSignal.abort(reason)))
      t.deepEqual([err?.code, err?.name, err?.cause], ['ABORT_ERR', 'AbortError', reason], name)
      t.equal((await failureOf(() => read(log, seq, {})))?.code, 'ERR_INVALID_ARGUMENT', name)
    }
  })

  test('signal: one that is aborted at once ends every read, and nobody else\'s', async (t, writer, create) => {
    const seq = await writer.append('a')
    await writer.close()
    for (const [name, read] of Object.entries(reads)) {
      const log = create()
      const controller = new AbortController()
      const other = new AbortController()
      const aborted = failureOf(() => read(log, seq, controller.signal))
      const unharmed = failureOf(() => read(log, seq, other.signal))
      controller.abort()
      t.equal((await aborted)?.code, 'ABORT_ERR', name)
      t.equal(await unharmed, null, name)
      t.equal(getEventListeners(controller.signal, 'abort').length, 0, name)
      t.equal(getEventListeners(other.signal, 'abort').length, 0, name)
      await log.close()
    }
  })

  test(`signal: one serves ${MANY} reads at once, without a warning, and is let go`, async (t, writer, create) => {
    const seq = await writer.append('a')
    await writer.close()
    const log = create()
    const controller = new AbortController()
    /** @type {string[]} */
    const warnings = []
    const warn = (/** @type {Error} */ { message }) => warnings.push(message)
    process.on('warning', warn)
    const options = { signal: controller.signal }
    const values = await Promise.all(Array.from({ length: MANY }, (_, i) => {
      return i % 10 === 0 ? log.first({ ...options, seqs: false }) : log.get(seq, options)
    }))
    t.ok(values.every((value) => value === 'a'))
    t.equal(getEventListeners(controller.signal, 'abort').length, 0)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', warn)
    t.deepEqual(warnings, [])
  })

  test('signal: it ends a live stream that waits, and one that is read later', async (t, log) => {
    await log.append('a')
    const controller = new AbortController()
    const { signal } = controller
    const waiting = log.stream({ live: true, seqs: false, signal })[Symbol.asyncIterator]()
    const unread = log.stream({ seqs: false, signal })
    const unharmed = log.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
    t.equal((await waiting.next()).value, 'a')
    t.equal((await unharmed.next()).value, 'a')
    const next = failureOf(() => waiting.next())
    const nextUnharmed = unharmed.next()
    setTimeout(() => controller.abort(), 5)
    t.equal((await next)?.code, 'ABORT_ERR')
    t.equal((await failureOf(() => collect(unread)))?.code, 'ABORT_ERR')
    await log.append('b')
    t.equal((await nextUnharmed).value, 'b')
    await unharmed.return()
    t.equal(getEventListeners(signal, 'abort').length, 0)
  })

  test('signal: it destroys a readable at once, read or not, and is let go', async (t, log) => {
    await log.append(Array.from({ length: 100 }, (_, i) => i))
    const controller = new AbortController()
    const { signal } = controller
    const readables = [
      log.toReadable({ seqs: false, signal }),
      log.toReadable({ live: true, signal }),
      log.toReadable({ live: true, gt: log.since.value, signal }).resume()
    ]
    // It is full, and asks the log for nothing more.
    await once(readables[0], 'readable')
    const failures = readables.map((readable) => once(readable, 'error'))
    const ended = log.toReadable({ limit: 1, signal }).resume()
    const left = log.toReadable({ live: true, signal })
    left.destroy()
    await Promise.all([once(ended, 'close'), once(left, 'close')])
    controller.abort(new Error('mine'))
    for (const failure of failures) t.deepEqual((await failure).map((err) => [err.code, err.cause?.message]), [['ABORT_ERR', 'mine']])
    t.ok(readables.every(({ destroyed }) => destroyed))
    t.equal(ended.errored ?? left.errored, null)
    t.equal(getEventListeners(signal, 'abort').length, 0)
  })

  test('signal: a scan that it has ended calls nobody any more', async (t, log) => {
    await log.append(Array.from({ length: 10_000 }, (_, i) => ({ i })))
    const controller = new AbortController()
    let callCount = 0
    const err = await failureOf(() => log.scan({ signal: controller.signal }, () => {
      callCount++
      controller.abort()
    }))
    t.equal(err?.code, 'ABORT_ERR')
    await new Promise((resolve) => setTimeout(resolve, 5))
    t.equal(callCount, 1)
  })

  test('stream: a second loop over it fails with a code', async (t, log) => {
    await appendEach(log, ['a', 'b'])
    for (const leave of [false, true]) {
      const stream = log.stream({ seqs: false })
      for await (const value of stream) if (leave && value === 'a') break
      t.equal((await failureOf(() => drain(stream)))?.code, 'ERR_STREAM_USED')
    }
    const stream = log.stream({ seqs: false })
    const iterator = stream[Symbol.asyncIterator]()
    t.equal((await iterator.next()).value, 'a')
    t.equal((await failureOf(() => stream[Symbol.asyncIterator]().next()))?.code, 'ERR_STREAM_USED')
    t.equal((await iterator.next()).value, 'b', 'the first loop goes on')
  })

  test('await using: ends streams, iterators and the log', async (t, log) => {
    await appendEach(log, ['a', 'b'])
    const stream = log.stream({ live: true, seqs: false })
    await stream[Symbol.asyncDispose]()
    t.deepEqual(await collect(stream), [])
    const iterator = log.stream({ live: true, seqs: false })[Symbol.asyncIterator]()
    t.equal((await iterator.next()).value, 'a')
    await iterator[Symbol.asyncDispose]()
    t.ok((await iterator.next()).done)
    t.equal(await log[Symbol.asyncDispose](), undefined)
    t.equal((await failureOf(() => log.append('c')))?.code, 'ERR_LOG_CLOSED')
    await log[Symbol.asyncDispose]()
  })
}

/** @param {AsyncIterable<unknown>} items */
async function drain (items) {
  let count = 0
  for await (const item of items) count += item === undefined ? 0 : 1
  return count
}

exports.addEndingTests = addEndingTests
