'use strict'
// A stream that is aborted, at every moment there is: the read that was not answered yet is answered first, each
// callback runs once, nothing is left waiting, and the log works on.

const pull = require('pull-stream')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const COUNT = 5
const REASONS = { true: true, 'an error': new Error('the reader went away') }

function open (framing, options = {}) {
  return OffsetLog(newPath('log'), { framing, codec: jsonCodec, ...options })
}

/** A disk that answers later, as a cold one does, so that reads are under way for a while. */
function readLater (log) {
  log._file.blocks._file.adaptiveIo.mayBlock = () => false
  return log
}

/** Reads, and keeps in order what each callback was told. */
function recorder (source) {
  const calls = []
  return {
    calls,
    read: () => new Promise((resolve) => source(null, (end, item) => { resolve(calls.push(['read', end, item])) })),
    abort: (reason) => new Promise((resolve) => source(reason, (end) => { resolve(calls.push(['abort', end])) }))
  }
}

/** A moment to abort in: brings a stream there, and leaves at most one read of it unanswered. */
const moments = {
  'before the log is loaded': async () => {},
  'before the log is loaded, a read under way': async (log, { read }) => { read() },
  'before the first read': (log) => log.ready(),
  'the first read under way': async (log, { read }) => {
    await log.ready()
    read()
  },
  'between two reads': async (log, { read }) => { await read() },
  'a later read under way': async (log, { read }) => {
    await read()
    read()
  },
  'after the last record': async (log, { read }) => { for (let i = 0; i < COUNT; i++) await read() },
  'after the last record, a read under way': async (log, { read }) => {
    for (let i = 0; i < COUNT; i++) await read()
    read()
  },
  'after an abort': async (log, { read, abort }) => {
    await read()
    await abort(true)
  },
  'after the log was closed': async (log, { read }) => {
    await read()
    await log.close()
  },
  'after the log was closed, a read under way': async (log, { read }) => {
    for (let i = 0; i < COUNT; i++) await read()
    read()
    await log.close()
  }
}

for (const framing of ['checked', 'offset48']) {
  tape(`abort: at every moment, with every reason, for every kind of stream (${framing})`, async (t) => {
    let count = 0
    for (const [moment, arrive] of Object.entries(moments)) {
      for (const options of [{}, { reverse: true }, { live: true }, { old: false }, { limit: COUNT }]) {
        // One that shows no old record has none to be read first.
        if (options.old === false && !/^before|^the first/.test(moment)) continue
        for (const [name, reason] of Object.entries(REASONS)) {
          const fault = await abortAt(framing, { arrive, options, reason })
          if (fault) t.fail(`${moment}, ${JSON.stringify(options)}, ${name}: ${fault}`)
          count++
        }
      }
    }
    t.ok(count > 80, `${count} aborts`)
  })
}

/** @returns {Promise<string | null>}  what was wrong */
async function abortAt (framing, { arrive, options, reason }) {
  const { storage } = new SimulatedDisk()
  const first = OffsetLog('/folder/log', { framing, codec: jsonCodec, storage })
  await first.append(Array.from({ length: COUNT }, (_, i) => i))
  await first.close()
  const log = readLater(OffsetLog('/folder/log', { codec: jsonCodec, storage, cache: 0 }))
  const source = log.stream({ ...options, seqs: false })
  const { calls, ...reader } = recorder(source)
  let readCount = 0
  const read = () => {
    readCount++
    return reader.read()
  }
  await arrive(log, { ...reader, read })
  const before = calls.length
  const isUnderWay = calls.filter(([name]) => name === 'read').length < readCount
  await reader.abort(reason)
  const answers = calls.slice(before)
  const expected = [...(isUnderWay ? [['read', reason, undefined]] : []), ['abort', reason]]
  if (!isSame(answers, expected)) return `${describe(answers)} instead of ${describe(expected)}`
  await reader.abort(true)
  await reader.read()
  for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate)
  const later = calls.slice(before + expected.length)
  if (!isSame(later, [['abort', true], ['read', true, undefined]])) return `afterwards ${describe(later)}`
  if (log._file.waitingStreams.size !== 0) return 'it is still waiting for an append'
  await log.close()
  return null
}

const describe = (calls) => JSON.stringify(calls.map(([name, end, item]) => [name, String(end), item]))
const isSame = (a, b) => describe(a) === describe(b)

tape('abort: from within the callback of a read', async (t) => {
  for (const options of [{}, { live: true }]) {
    const log = open('checked')
    await log.append([1, 2, 3])
    const source = log.stream({ ...options, seqs: false })
    const seen = await new Promise((resolve) => {
      source(null, (end, item) => source(true, (abort) => source(null, (end) => resolve([item, abort, end]))))
    })
    t.deepEqual(seen, [1, true, true], JSON.stringify(options))
    t.equal(log._file.waitingStreams.size, 0)
    await log.close()
  }
})

tape('abort: the operators of pull-stream that end early end the log\'s stream', async (t) => {
  const log = open('checked')
  await log.append(Array.from({ length: 20 }, (_, i) => i))
  const collect = (...parts) => new Promise((resolve) => {
    pull(...parts, pull.collect((err, items) => resolve([err, items])))
  })
  t.deepEqual(await collect(log.stream({ seqs: false, live: true }), pull.take(3)), [null, [0, 1, 2]])
  t.deepEqual(await collect(log.stream({ seqs: false }), pull.take((i) => i < 2, { last: true })), [null, [0, 1, 2]])
  const mine = new Error('mine')
  const failing = pull.asyncMap((i, cb) => cb(i === 4 ? mine : null, i))
  const [err] = await collect(log.stream({ seqs: false, live: true }), failing)
  t.equal(err, mine)
  t.equal(log._file.waitingStreams.size, 0)
  await log.close()
})

tape('stream: a second read before the first is answered is refused, and the first goes on', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    for (const isAsync of [false, true]) {
      const log = isAsync ? readLater(open(framing)) : open(framing)
      const last = await log.append(['a', 'b'])
      const { calls, read } = recorder(log.stream({ gte: last, live: true, seqs: false }))
      await read()
      const waiting = read()
      await read()
      t.equal(calls[1][1]?.code, 'ERR_INVALID_ARGUMENT')
      await log.append('c')
      await waiting
      t.deepEqual([calls[0], calls[2]], [['read', null, 'b'], ['read', null, 'c']])
      const early = recorder(log.stream({ seqs: false }))
      await Promise.all([early.read(), early.read(), early.read()])
      t.ok(early.calls.some(([, end, item]) => end === null && item === 'a'), 'the first read has its record')
      await log.close()
    }
  }
})

tape('stream: what a reader throws is the reader\'s, and the stream and the log go on', async (t) => {
  const log = open('checked')
  await log.append(['a', 'b', 'c'])
  const source = log.stream({ seqs: false })
  t.deepEqual(await recorderOf(source), [null, 'a'])
  t.throws(() => source(null, () => { throw new Error('mine') }), /mine/)
  t.deepEqual(await recorderOf(source), [null, 'c'])
  t.throws(() => source(true, () => { throw new Error('mine') }), /mine/)
  t.deepEqual(await recorderOf(source), [true, undefined])
  const mine = new Error('mine')
  const values = []
  t.equal(await failureOf(async () => {
    for await (const { value } of log.stream()) if (values.push(value) === 2) throw mine
  }), mine)
  t.deepEqual(values, ['a', 'b'])
  await log.append('d')
  t.deepEqual(await recorderOf(log.stream({ reverse: true, seqs: false })), [null, 'd'])
  await log.close()
})

const recorderOf = (source) => new Promise((resolve) => source(null, (end, item) => resolve([end, item])))

tape('stream: pull-stream can tell it from what may follow it, and an abort needs no callback', async (t) => {
  const log = open('checked')
  await log.append(['a', 'b'])
  for (const options of [{ seqs: false }, { gt: 'no number' }]) t.equal(log.stream(options).length, 2)
  const source = log.stream({ seqs: false })
  t.deepEqual(await new Promise((resolve) => source(false, (end, item) => resolve([end, item]))), [null, 'a'])
  source(true)
  t.deepEqual(await recorderOf(source), [true, undefined])
  await log.close()
})

tape('stream: an error never comes before the read has returned', async (t) => {
  const codec = { ...jsonCodec, decodeRange: () => { throw new Error('mine') } }
  const log = open('checked', { codec })
  await log.append('a')
  const failing = { 'does not decode': {}, 'cannot be filtered': { where: { path: ['a'], equals: 1 } } }
  codec.compile = () => () => { throw new Error('mine') }
  for (const [name, options] of Object.entries(failing)) {
    let hasReturned = false
    const source = log.stream(options)
    const answer = new Promise((resolve) => source(null, (end) => resolve([end.code, hasReturned])))
    hasReturned = true
    t.deepEqual(await answer, ['ERR_CODEC_DECODE', true], name)
  }
  await log.close()
})

tape('scan: a signal ends it between runs', async (t) => {
  const log = open('checked')
  for (let index = 0; index < 400; index++) await log.append('x'.repeat(1000))
  const controller = new AbortController()
  let count = 0
  const err = await failureOf(() => log.scan({ signal: controller.signal }, (run) => {
    count += run.count
    controller.abort()
  }))
  t.deepEqual([err?.code, err?.cause], ['ABORT_ERR', controller.signal.reason])
  t.ok(count < 400, `${count} of 400`)
  for (const signal of [null, 1, {}, 'abort']) {
    t.equal((await failureOf(() => log.scan({ signal }, () => {})))?.code, 'ERR_INVALID_ARGUMENT')
  }
  await log.close()
})
