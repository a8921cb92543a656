'use strict'
// A sink that is down, slow, flapping, full, or refuses: nothing is missing, nothing is blocked, and it is told.

const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, failureOf, faultyStorage, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { fileStorage } = require('@millrace/block-file')
const { refused, tooLarge, unavailable } = require('..')
const { delayOf } = require('../lib/outcomes')
const { createCollector, fill, forward, kindsOf, makeLog, range } = require('./helpers')

const seed = Date.now() % 2 ** 31

tape('retry: a sink that was down gets everything, in order, and the reports say so', async (t) => {
  const log = makeLog()
  await fill(log, 700)
  const sink = createCollector()
  let failures = 20
  const keys = new Set()
  const forwarder = forward(log, {
    sink: async (records, context) => {
      keys.add(context.key)
      if (failures-- > 0) throw new Error('connection refused')
      await sink.send(records, context)
    }
  })
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 700))
  t.deepEqual(sink.keys, [...keys], 'the key of a batch stays')
  t.equal(forwarder.stats().failures, 20)
  t.deepEqual(kindsOf(forwarder), ['retry', 'recovered'])
  const { error, attempt, delayMs } = forwarder.reports[0]
  t.deepEqual([error.message, attempt], ['connection refused', 1])
  t.ok(delayMs >= 0 && delayMs <= 1)
  t.equal(forwarder.reports.at(-1).attempts, 20)
  await forwarder.close()
  await log.close()
})

tape(`retry: a flapping sink that answers anything gets all, in order, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const log = makeLog()
  const sink = createCollector()
  const forwarder = forward(log, {
    batch: { count: 7, ageMs: 0 },
    sink: (records, context) => {
      switch (random(5)) {
        case 0: throw unavailable('busy', { retryAfterMs: 1 })
        case 1: return Promise.reject(undefined) // eslint-disable-line prefer-promise-reject-errors
        case 2: throw 'no error' // eslint-disable-line no-throw-literal
        case 3: return new Promise((resolve, reject) => setTimeout(reject, 2, new Error('late')))
        default: return sink.send(records, context)
      }
    }
  })
  for (let n = 0; n < 300; n += 10) {
    await fill(log, 10, n)
    await new Promise(setImmediate)
  }
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 300))
  t.equal(forwarder.stats().lastError, null)
  await forwarder.close()
  await log.close()
})

tape('attempts: a record that never succeeds is set aside after so many tries, and all others come in order', async (t) => {
  for (const attempts of [1, 3]) {
    const log = makeLog()
    await fill(log, 40)
    const sink = createCollector()
    const tries = new Map()
    const bad = [7, 8, 39]
    const options = {
      attempts,
      batch: { count: 10, ageMs: 0 },
      sink: async (records, context) => {
        if (records.length === 1) tries.set(records[0].value.n, (tries.get(records[0].value.n) ?? 0) + 1)
        if (records.some(({ value }) => bad.includes(value.n))) throw unavailable('500 Internal Server Error')
        await sink.send(records, context)
      }
    }
    const forwarder = forward(log, options)
    await forwarder.drained()
    t.deepEqual(sink.all, range(0, 40).filter((n) => !bad.includes(n)), 'in order, each once')
    for (const n of bad) t.equal(tries.get(n), attempts, `${n} was tried ${tries.get(n)} times alone`)
    t.deepEqual([forwarder.stats().forwarded, forwarder.stats().refused], [37, 3])
    const told = forwarder.reports.filter(({ what }) => what === 'refused')
    t.deepEqual(told.map(({ count }) => count), [1, 1, 1])
    t.match(told[0].message, /given up after \d tr(y|ies): 500/)
    await forwarder.close()
    const aside = OffsetLog(`${log.filename}.default.refused`, { codec: jsonCodec, flags: 'r' })
    const entries = (await collect(aside.stream())).map(({ value }) => value)
    t.deepEqual(entries.map(({ value }) => value.n), bad)
    await aside.close()
    await log.close()
  }
})

tape('attempts: if the record cannot be set aside, the cursor waits; after a crash it is set aside again, never lost', async (t) => {
  const log = makeLog()
  await fill(log, 3)
  const aside = []
  let isFull = true
  const options = {
    attempts: 2,
    batch: { count: 1, ageMs: 0 },
    sink: ([{ value }]) => { if (value.n === 1) throw new Error('never') },
    refused: ({ seq, value }) => {
      if (isFull) throw new Error('no space')
      aside.push(value.n)
    }
  }
  const first = forward(log, options)
  await until(() => first.reports.some(({ what, error }) => what === 'retry' && error.message === 'no space'))
  await first.close()
  t.equal(first.stats().forwarded, 1, 'the cursor has not passed it')
  isFull = false
  const second = forward(log, options)
  await second.drained()
  t.deepEqual(aside, [1])
  t.deepEqual([second.stats().forwarded, second.stats().refused], [2, 1])
  await second.close()
  for (const wrong of [0, -1, 1.5, '3']) t.equal((await failureOf(() => forward(log, { ...options, attempts: wrong })))?.code, 'ERR_INVALID_ARGUMENT')
  await log.close()
})

tape('retry: waits as long as the sink asks, and close does not wait for that', async (t) => {
  const log = makeLog()
  await fill(log, 1)
  const times = []
  const forwarder = forward(log, {
    sink: async () => {
      times.push(performance.now())
      throw unavailable('full', { retryAfterMs: times.length === 1 ? 100 : 3_600_000 })
    }
  })
  await until(() => times.length === 2 && forwarder.state.value === 'waiting')
  t.ok(times[1] - times[0] >= 99, `${times[1] - times[0]}`)
  t.ok(forwarder.reports[1].delayMs >= 3_600_000)
  await forwarder.pause()
  t.equal(forwarder.state.value, 'paused', 'a pause does not wait for it either')
  await forwarder.resume()
  await until(() => times.length === 3)
  t.deepEqual(await forwarder.close({ drain: 20 }), { isDrained: false })
  await log.close()
})

tape('backoff: a random time below a limit that doubles', (t) => {
  const backoff = { minMs: 100, maxMs: 5000 }
  for (const [failures, limit] of [[1, 100], [2, 200], [4, 800], [7, 5000], [5000, 5000]]) {
    const delays = Array.from({ length: 2000 }, () => delayOf(backoff, failures))
    t.ok(delays.every((ms) => ms >= 0 && ms <= limit), `${limit}`)
    t.ok(Math.min(...delays) < limit * 0.1 && Math.max(...delays) > limit * 0.9, 'full jitter')
  }
  t.ok(delayOf(backoff, 1, 9000) === 9000)
  t.end()
})

tape(`refused: poison records are found, set aside and counted, and all others arrive in order, seed ${seed}`, async (t) => {
  const random = createRandom(seed)
  const log = makeLog()
  await fill(log, 600)
  const poison = new Set([0, 1, 599, ...Array.from({ length: 20 }, () => random(600))])
  const sink = createCollector()
  let tries = 0
  const forwarder = forward(log, {
    sink: async (records, context) => {
      tries++
      if (records.some(({ value }) => poison.has(value.n))) throw refused('bad n')
      await sink.send(records, context)
    }
  })
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 600).filter((n) => !poison.has(n)))
  t.ok(tries <= 2 + poison.size * 2 * 10, `${tries} tries`)
  const { forwarded, refused: count, failures } = forwarder.stats()
  t.deepEqual([forwarded, count, failures], [600 - poison.size, poison.size, 0])
  await forwarder.close()
  const { id } = await log.stats()
  await log.close()
  const aside = makeLog({ flags: 'r' }, `${log.filename}.default.refused`)
  const found = []
  for await (const { value } of aside.stream()) {
    found.push(value.value.n)
    t.deepEqual([value.log, value.message, Number.isFinite(Date.parse(value.time))], [id, 'bad n', true])
  }
  t.deepEqual(found, [...poison].sort((a, b) => a - b))
  await aside.close()
})

tape('refused: a sink may name the records, or only their number', async (t) => {
  const log = makeLog()
  await fill(log, 10)
  const aside = []
  const forwarder = forward(log, {
    refused: async (record) => { aside.push(record) },
    batch: { count: 5 },
    sink: async (records) => records[0].value.n === 0
      ? { refused: [{ index: 1, message: 'one' }, { index: 3 }, { index: 3 }] }
      : { refusedCount: 2, message: 'two of them' }
  })
  await forwarder.drained()
  t.deepEqual(aside.slice(0, 2).map(({ value, message }) => [value.n, message]), [[1, 'one'], [3, 'the sink refused it']])
  const { seq, to, count, message } = aside[2]
  t.deepEqual([to, count, message], [log.since.value, 2, 'two of them'])
  t.ok(seq < to && aside.length === 3)
  t.equal(forwarder.reports.at(-1).count, 2)
  t.equal(forwarder.stats().refused, 4, 'the one that is named twice counts once')
  await forwarder.close()
  await log.close()
})

tape('refused: an answer that cannot be meant is a failure: nothing is passed, and the report says what is wrong', async (t) => {
  const response = new Response('down', { status: 500 })
  for (const [given, words] of [
    [response, /an answer of fetch with the status 500/], [{ refused: [0, 2] }, /refused must be .* got \[ 0, 2 \]/],
    [{ refused: 2 }, /refused must be .* got 2/], [{ refused: null }, /got null/], [{ refused: [null] }, /got \[ null \]/],
    [{ refused: [{ index: 5 }] }, /indexes of the batch, got \[ { index: 5 } \]/], [{ refused: [{ index: '1' }] }, /refused/],
    [{ refusedCount: -1 }, /refusedCount must be a whole number, got -1/], [{ refusedCount: NaN }, /got NaN/],
    [{ begin: true }, /begin must have a seq, got true/]
  ]) {
    const log = makeLog()
    await fill(log, 5)
    const sink = createCollector()
    let tries = 0
    const forwarder = forward(log, {
      refused: async () => t.fail('nothing is set aside'),
      sink: async (records, context) => tries++ < 2 ? given : sink.send(records, context)
    })
    await forwarder.drained()
    t.deepEqual(sink.all, range(0, 5))
    const [{ what, message }] = forwarder.reports
    t.equal(what, 'retry')
    t.match(message, words)
    const { forwarded, refused, failures } = forwarder.stats()
    t.deepEqual([forwarded, refused, failures], [5, 0, 2])
    await forwarder.close()
    await log.close()
  }
  const log = makeLog()
  await fill(log, 5)
  const forwarder = forward(log, { sink: async () => new Response('ok') })
  await forwarder.drained()
  t.equal(forwarder.stats().forwarded, 5, 'an answer 2xx accepts the batch')
  await forwarder.close()
  await log.close()
})

tape('refused: into another log; and while that fails nothing is passed', async (t) => {
  const log = makeLog()
  await fill(log, 3)
  const target = makeLog()
  let failures = 3
  const sink = createCollector()
  const forwarder = forward(log, {
    refused: { append: async (record) => { if (failures-- > 0) throw new Error('disk full'); await target.append(record) }, sync: () => target.sync() },
    sink: async (records, context) => {
      if (records.some(({ value }) => value.n === 1)) throw refused('no')
      await sink.send(records, context)
    }
  })
  await forwarder.drained()
  t.deepEqual(sink.all, [0, 2])
  t.equal(await target.count(), 1)
  t.equal(forwarder.stats().failures, 3)
  await forwarder.close()
  await target.close()
  await log.close()
})

tape('refused: if everything is refused, the forwarder slows down', async (t) => {
  const log = makeLog()
  await fill(log, 110)
  const times = []
  const forwarder = forward(log, {
    batch: { count: 1 },
    backoff: { minMs: 1000, maxMs: 1000 },
    refused: () => { times.push(performance.now()) },
    sink: async () => { throw refused('wrong endpoint') }
  })
  await until(() => times.length >= 100 && forwarder.state.value === 'waiting')
  t.equal(times.length, 100)
  await forwarder.close()
  t.equal(forwarder.stats().refused, 100)
  await log.close()
})

tape('too large: batches become smaller, a record that is too large alone is set aside, and later batches grow again', async (t) => {
  const log = makeLog()
  await fill(log, 400)
  await log.append({ n: 400, text: 'x'.repeat(5000) })
  await fill(log, 400, 401)
  const sink = createCollector()
  let refusals = 0
  const forwarder = forward(log, {
    batch: { count: 200, size: 100_000 },
    sink: async (records, context) => {
      if (JSON.stringify(records).length > 2000) {
        refusals++
        throw tooLarge('413')
      }
      await sink.send(records, context)
    }
  })
  await forwarder.drained()
  t.deepEqual(sink.all, range(0, 801).filter((n) => n !== 400))
  t.equal(forwarder.stats().refused, 1)
  t.ok(refusals < sink.batches.length, `${refusals} refusals for ${sink.batches.length} batches`)
  await forwarder.close()
  await log.close()
})

tape('cursor: while it cannot be written, nothing is sent that might have to be sent again', async (t) => {
  const folder = temporaryFolder()
  const log = makeLog({}, path.join(folder, 'log'))
  await fill(log, 30)
  let failures = 0
  const storage = faultyStorage(fileStorage, ({ name }) => {
    if (name === 'write' && failures > 0) return { error: Object.assign(new Error('no space'), { code: 'ENOSPC' }, { left: failures-- }) }
  })
  const sink = createCollector()
  const forwarder = forward(log, {
    storage,
    batch: { count: 10 },
    sink: async (records, context) => {
      await sink.send(records, context)
      failures = 3
    }
  })
  await forwarder.drained()
  t.deepEqual(sink.batches.map(({ length }) => length), [10, 10, 10])
  t.ok(forwarder.stats().failures >= 3, 'block-file tries to undo a failed write, which may fail too')
  t.ok(['ENOSPC', 'ERR_FILE_NOT_UNDONE'].includes(forwarder.reports[0].error.code))
  await forwarder.close()
  await log.close()
})

/** A log that has lost its first records to retention. */
function retain (log) {
  let firstKept = 0
  const retained = () => Object.assign(new Error('retained'), { code: 'ERR_LOG_SEQ_RETAINED' })
  const check = ({ gt = -1, gte = 0, onRetained }) => {
    if (onRetained !== 'skip' && gt !== -1 && Math.max(gt + 1, gte) < firstKept) throw retained()
    return Math.max(gt + 1, gte, firstKept)
  }
  return {
    ready: log.ready,
    since: log.since,
    supports: log.supports,
    filename: log.filename,
    stats: log.stats,
    removeBefore: (seq) => { firstKept = seq },
    get: async (seq) => seq < firstKept ? Promise.reject(retained()) : log.get(seq),
    scan: async (options, onRecords) => log.scan({ ...options, gte: check(options) }, onRecords),
    stream: (options) => log.stream({ ...options, gte: check(options) }),
    count: async (options) => log.count({ ...options, gte: check(options) })
  }
}

tape('retention: what the log has removed is skipped, and told', async (t) => {
  const log = makeLog()
  await log.ready()
  const kept = retain(log)
  await fill(log, 50)
  const sink = createCollector()
  const first = forward(kept, { sink, batch: { count: 10 }, lagMs: 5 })
  await first.drained()
  await first.pause()
  await fill(log, 100, 50)
  await until(() => first.lag.value.records === 100)
  const seqs = await collect(log.stream({ values: false }))
  kept.removeBefore(seqs[120])
  await first.resume()
  await first.drained()
  t.deepEqual(sink.all, [...range(0, 50), ...range(120, 150)])
  const skip = { what: 'skipped', from: seqs[49], to: seqs[120], records: 70 }
  t.deepEqual(first.reports.map(({ message, ...report }) => report), [skip])
  await first.close()
  await fill(log, 100, 150)
  for await (const seq of log.stream({ values: false, gt: seqs.at(-1) })) seqs.push(seq)
  kept.removeBefore(seqs[200])
  const second = forward(kept, { sink })
  await second.drained()
  t.deepEqual(sink.all.slice(80), range(200, 250), 'while it was not running, too')
  t.deepEqual([second.reports.length, second.reports[0].records], [1, null])
  t.equal(second.stats().skipped, 1)
  await second.close()
  await log.close()
})

tape('damage: what can be read is forwarded, and the loss is told', async (t) => {
  const fs = require('node:fs')
  const file = newPath('log')
  const log = makeLog({}, file)
  for (let n = 0; n < 2000; n++) log.append({ n, text: 'y'.repeat(100) }, () => {})
  await log.close()
  fs.writeFileSync(file, fs.readFileSync(file).fill(0, 100_000, 101_000))
  const damaged = OffsetLog(file, { codec: jsonCodec, flags: 'r' })
  const sink = createCollector()
  const forwarder = forward(damaged, { sink })
  await forwarder.drained()
  t.ok(sink.all.length > 1000 && sink.all.length < 2000 && sink.all.at(-1) === 1999, `${sink.all.length}`)
  t.deepEqual(forwarder.reports.map(({ what }) => what), ['skipped'])
  await forwarder.close()
  t.equal((await failureOf(() => forwarder.drained())).code, 'ERR_FORWARDER_CLOSED')
  await damaged.close()
})
