'use strict'
// Tests the writing side of a log: appending, deleting, opening and closing.

const { createRandom, failureOf } = require('../tools')
const { collect, appendEach, isSame } = require('./helpers')

/** @param {import('../log-suite').Suite} suite */
function addAppendTests ({ test, seed }) {
  test('append: gives the seq under which get finds the value', async (t, log) => {
    const seq = await log.append({ hello: 'world' })
    t.equal(typeof seq, 'number')
    t.deepEqual(await log.get(seq), { hello: 'world' })
  })

  test('append: since has the seq already when the callback runs', async (t, log) => {
    await log.ready()
    t.equal(log.since.value, -1, 'empty')
    await new Promise((resolve) => log.append('a', (/** @type {any} */ err, /** @type {any} */ seq) => {
      t.error(err)
      t.equal(log.since.value, seq)
      resolve(null)
    }))
  })

  test('append: an array is one batch, and gives the seq of its last record', async (t, log) => {
    const seq = await log.append(['a', 'b', 'c'])
    t.equal(await log.get(seq), 'c')
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b', 'c'])
  })

  test('append: nothing writes nothing and gives since', async (t, log) => {
    t.equal(await log.append([]), -1)
    const seq = await log.append('a')
    t.equal(await log.append([]), seq)
    t.deepEqual(await collect(log.stream({ values: false })), [seq])
  })

  test('append: concurrent calls all succeed, in the order of the calls', async (t, log) => {
    const values = Array.from({ length: 500 }, (_, i) => `value ${i}`)
    const seqs = await Promise.all(values.map((value) => log.append(value)))
    t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
    t.deepEqual(await collect(log.stream()), values.map((value, i) => ({ seq: seqs[i], value })))
  })

  test('append: a value that cannot be encoded fails alone, and nothing of its batch is written', async (t, log) => {
    const cyclic = /** @type {any} */ ({})
    cyclic.self = cyclic
    const results = await Promise.allSettled([
      log.append('a'), log.append(cyclic), log.append(['b', cyclic]), log.append(undefined), log.append('c')
    ])
    t.deepEqual(results.map(({ status }) => status), ['fulfilled', 'rejected', 'rejected', 'rejected', 'fulfilled'])
    for (const result of results) {
      if (result.status === 'rejected') t.equal(result.reason.code, 'ERR_CODEC_ENCODE')
    }
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'c'])
  })

  test('append: the value may change once the call has returned', async (t, log) => {
    const value = { n: 1 }
    const appended = log.append(value)
    value.n = 2
    t.deepEqual(await log.get(await appended), { n: 1 })
  })

  test('appendSync: puts its records after all earlier appends, and returns the seq', async (t, log, create) => {
    await log.ready()
    if (!log.supports.flushSync) {
      t.equal((await failureOf(async () => log.appendSync('a')))?.code, 'ERR_NOT_SUPPORTED')
      return
    }
    const earlier = log.append('a')
    const seqs = [log.appendSync('b'), log.appendSync('c', { sync: false })]
    if (log.supports.atomicBatch) seqs.push(log.appendSync(['d', 'e']))
    const later = log.append('f')
    log.flushSync()
    t.ok(await earlier < seqs[0] && await later > seqs[seqs.length - 1])
    t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
    t.deepEqual(await log.getMany(seqs.slice(0, 2)), ['b', 'c'])
    const expected = log.supports.atomicBatch ? ['a', 'b', 'c', 'd', 'e', 'f'] : ['a', 'b', 'c', 'f']
    t.deepEqual(await collect(log.stream({ seqs: false })), expected)
    await log.close()
    t.deepEqual(await collect(create().stream({ seqs: false })), expected)
  })

  test('append: a callback that is not a function rejects the promise', async (t, log) => {
    for (const wrong of ['b', 5, true]) {
      const promise = log.append('a', wrong)
      const err = await promise.then(() => null, (/** @type {any} */ err) => err)
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', err?.message)
      await log.ready()
    }
    t.equal(await log.count(), 0, 'nothing was appended')
  })

  test('append: with seqs, gives the seq of each record, of a batch and of one value', async (t, log) => {
    const waiting = log.append(['a', 'b'], { seqs: true })
    await log.ready()
    const [first, one, last] = await Promise.all([
      waiting, log.append('c', { seqs: true }), log.append('d', { seqs: false }), log.append('e', {}),
      log.append('f', undefined)
    ])
    const called = await new Promise((resolve, reject) => {
      log.append(['g', 'h', 'i'], { seqs: true }, (/** @type {any} */ err, /** @type {any} */ seqs) => {
        if (err) reject(err)
        else resolve([seqs, log.since.value])
      })
    })
    t.deepEqual([first.length, one.length, typeof last, called[0].length], [2, 1, 'number', 3])
    t.equal(called[1], called[0][2], 'since has the last one when the callback runs')
    t.deepEqual(await log.getMany([...first, ...one, last, ...called[0]]), ['a', 'b', 'c', 'd', 'g', 'h', 'i'])
    t.deepEqual(await log.append([], { seqs: true }), [], 'nothing has no seq')
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
  })

  test('append: with seqs, a random mixture of appends gives what is read afterwards', async (t, log) => {
    const random = createRandom(seed)
    t.comment(`seed ${seed}`)
    let n = 0
    /** @type {Array<[seq: number, value: unknown]>} */
    const given = []
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 40 }, async () => {
        const values = Array.from({ length: random(6) }, () => {
          return { n: n++, pad: 'x'.repeat(random(random(40) === 0 ? 20_000 : 60)) }
        })
        const isBatch = values.length !== 1 || random(2) === 0
        if (random(3) === 0) return log.append(isBatch ? values : values[0])
        const seqs = await log.append(isBatch ? values : values[0], { seqs: true })
        if (seqs.length !== values.length) t.fail(`${seqs.length} seqs of ${values.length} records`)
        seqs.forEach((/** @type {number} */ seq, /** @type {number} */ index) => given.push([seq, values[index]]))
      }))
    }
    const found = new Map((await collect(log.stream())).map(({ seq, value }) => [seq, value]))
    t.equal(found.size, n)
    t.ok(given.length > 100 && new Set(given.map(([seq]) => seq)).size === given.length, `${given.length} seqs, none twice`)
    t.ok(isSame(given.map(([seq]) => found.get(seq)), given.map(([, value]) => value)), 'each is the one of its record')
  })

  test('append: with seqs, a batch that fails gives none, and the others theirs', async (t, log) => {
    /** @type {any[]} */
    const [good, bad, after] = await Promise.allSettled([
      log.append(['a', 'b'], { seqs: true }), log.append(['c', undefined], { seqs: true }), log.append(['d'], { seqs: true })
    ])
    t.equal(bad.reason?.code, 'ERR_CODEC_ENCODE')
    t.equal(bad.reason?.index, 1)
    t.deepEqual(await collect(log.stream({ values: false })), [...good.value, ...after.value])
    await log.close()
    t.equal((await failureOf(() => log.append(['e'], { seqs: true })))?.code, 'ERR_LOG_CLOSED')
    t.equal((await failureOf(() => log.append([], { seqs: true })))?.code, 'ERR_LOG_CLOSED')
  })

  test('append: an option that is unknown or no boolean is refused, and nothing is written', async (t, log) => {
    const wrong = [{ seq: true }, { sync: false }, { seqs: 1 }, { seqs: null }, { seqs: 'true' }]
    for (const options of wrong) {
      t.equal((await failureOf(() => log.append(['a'], options)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
    }
    for (const options of [null, 5, 'seqs', { seq: true }]) {
      const err = await new Promise((resolve) => log.append(['a'], options, resolve))
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `${JSON.stringify(options)}, with a callback`)
    }
    for (const cb of [null, 5, {}]) {
      const err = await failureOf(async () => log.append(['a'], { seqs: true }, cb))
      t.equal(err?.code, 'ERR_INVALID_ARGUMENT', `a callback that is ${cb}`)
    }
    t.match((await failureOf(() => log.append(['a'], { seq: true }))).message, /seqs/, 'the message says which there is')
    t.equal(log.since.value, -1)
  })

  test('appendSync: with seqs, gives the seq of each record', async (t, log) => {
    await log.ready()
    if (!log.supports.flushSync) {
      t.equal((await failureOf(async () => log.appendSync(['a'], { seqs: true })))?.code, 'ERR_NOT_SUPPORTED')
      return
    }
    const earlier = log.append(['a', 'b'], { seqs: true })
    const now = [log.appendSync(['c', 'd', 'e'], { seqs: true }), log.appendSync('f', { seqs: true, sync: false })]
    const last = log.appendSync(['g', 'h'], { seqs: false })
    t.deepEqual(now.map(({ length }) => length), [3, 1])
    t.deepEqual(log.appendSync([], { seqs: true }), [])
    for (const options of [{ seq: true }, { seqs: 1 }, { seqs: true, sync: 0 }]) {
      t.equal((await failureOf(async () => log.appendSync('i', options)))?.code, 'ERR_INVALID_ARGUMENT', JSON.stringify(options))
    }
    t.equal((await failureOf(async () => log.flushSync({ seqs: true })))?.code, 'ERR_INVALID_ARGUMENT', 'flushSync gives none')
    log.flushSync()
    const seqs = [...await earlier, ...now.flat()]
    t.deepEqual(await log.getMany([...seqs, last]), ['a', 'b', 'c', 'd', 'e', 'f', 'h'])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  })
}

/** @param {import('../log-suite').Suite} suite */
function addDeleteTests ({ test: add }) {
  /** @type {import('../log-suite').AddTest} */
  const test = (title, run) => add(title, async (t, log, create) => {
    await log.ready()
    if (log.supports.del) return run(t, log, create)
    const seq = await log.append('before')
    t.equal((await failureOf(() => log.del(seq)))?.code, 'ERR_NOT_SUPPORTED')
    t.equal(await log.get(seq), 'before')
  })

  test('del: get says deleted, streams leave it out, since stays', async (t, log) => {
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    await log.del(seqs[2])
    t.equal((await failureOf(() => log.get(seqs[2]))).code, 'flumelog:deleted')
    t.equal(log.since.value, seqs[2])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b'])
    t.deepEqual(await collect(log.stream({ values: false, reverse: true })), [seqs[1], seqs[0]])
    await log.del([seqs[0], seqs[2]])
    t.deepEqual(await collect(log.stream({ seqs: false })), ['b'])
  })

  test('del: a wrong seq among several deletes nothing', async (t, log) => {
    const seqs = await appendEach(log, ['a', 'b'])
    t.equal((await failureOf(() => log.del([seqs[0], seqs[1] + 1]))).code, 'ERR_RECORD_NOT_FOUND')
    t.equal((await failureOf(() => log.del('0'))).code, 'ERR_INVALID_ARGUMENT')
    t.equal((await failureOf(() => log.del([null]))).code, 'ERR_INVALID_ARGUMENT')
    t.deepEqual(await collect(log.stream({ seqs: false })), ['a', 'b'])
    await log.del([])
  })

  test('del: after reopening, since is the last record that is not deleted', async (t, log, create) => {
    const seqs = await appendEach(log, ['a', 'b', 'c'])
    await log.del([seqs[1], seqs[2]])
    await log.close()
    const again = create()
    await again.ready()
    t.equal(again.since.value, seqs[0])
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a'])
    const next = await again.append('d')
    t.ok(next > seqs[2], 'the place of a deleted record is not given away')
    await again.del([seqs[0], next])
    await again.close()
    const empty = create()
    await empty.ready()
    t.equal(empty.since.value, -1)
  })

  test('del: of a record after the end of a stream that was made before it', async (t, log) => {
    const first = await log.append('a')
    const options = [{ seqs: false }, { seqs: false }, { values: false, reverse: true }]
    const streams = options.map((shape) => log.stream(shape))
    t.equal((await streams[0][Symbol.asyncIterator]().next()).value, 'a')
    const [second] = await appendEach(log, ['b', 'c'])
    await log.del(second)
    t.deepEqual(await collect(streams[0]), [], 'it goes on, and ends')
    t.deepEqual(await collect(streams[1]), ['a'], 'it begins to read now')
    t.deepEqual(await collect(streams[2]), [first])
  })

  test('del: while appends and streams are under way', async (t, log) => {
    const values = Array.from({ length: 200 }, (_, i) => `value ${i}`)
    const seqs = await Promise.all(values.map((value) => log.append(value)))
    const work = []
    for (let i = 0; i < 200; i += 2) work.push(log.del(seqs[i]), log.append(`more ${i}`), collect(log.stream()))
    await Promise.all(work)
    const left = await collect(log.stream({ seqs: false }))
    t.equal(left.filter((value) => value.startsWith('value')).length, 100)
    t.equal(left.filter((value) => value.startsWith('more')).length, 100)
  })
}

/** @param {import('../log-suite').Suite} suite */
function addLifecycleTests ({ test }) {
  test('open: calls made at once wait until the log is loaded', async (t, log) => {
    t.equal(log.since.value, undefined)
    const [seq, stream] = await Promise.all([log.append('a'), collect(log.stream({ live: true, limit: 1, seqs: false }))])
    t.deepEqual(stream, ['a'])
    t.equal(await log.get(seq), 'a')
  })

  test('close: drains appends that were under way, and may be called twice', async (t, log, create) => {
    const appended = Promise.all(['a', 'b', 'c'].map((value) => log.append(value)))
    const closed = Promise.all([log.close(), log.close()])
    t.equal((await appended).length, 3)
    await closed
    await log.close()
    const again = create()
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a', 'b', 'c'])
  })

  test('close: every later call fails with a code', async (t, log) => {
    const seq = await log.append('a')
    await log.close()
    const calls = {
      append: () => log.append('b'),
      get: () => log.get(seq),
      del: () => log.del(seq),
      sync: () => log.sync(),
      stats: () => log.stats(),
      ready: () => log.ready(),
      scan: () => log.scan({}, () => {}),
      stream: () => collect(log.stream())
    }
    for (const [name, call] of Object.entries(calls)) {
      t.equal((await failureOf(call))?.code, 'ERR_LOG_CLOSED', name)
    }
  })

  test('reopen: since and every record are as before', async (t, log, create) => {
    await log.append(['a', 'b'])
    const last = await log.append('c')
    await log.close()
    const again = create()
    await again.ready()
    t.equal(again.since.value, last)
    t.deepEqual(await collect(again.stream({ seqs: false })), ['a', 'b', 'c'])
    t.equal(await again.get(last), 'c')
  })

  test('methods: work when they are taken off the log', async (t, log) => {
    const { append, get, stream, scan, del, sync, stats, ready, close } = log
    await ready()
    const seq = await append('a')
    t.equal(await get(seq), 'a')
    t.deepEqual(await collect(stream({ seqs: false })), ['a'])
    await scan({}, () => {})
    await sync()
    t.equal((await stats()).since, seq)
    t.deepEqual(Object.keys(log.methods), ['del'])
    if (log.supports.del) await del(seq)
    await close()
  })

  test('contract: what a log cannot do it declares, and refuses with a code', async (t, log) => {
    await log.ready()
    t.equal(typeof log.supports, 'object')
    for (const name of ['compact', 'snapshot']) {
      if (log.supports[name]) continue
      t.equal((await failureOf(() => log[name]()))?.code, 'ERR_NOT_SUPPORTED', name)
    }
    if (!log.supports.partitions) t.equal((await failureOf(() => log.partitions(2)))?.code, 'ERR_NOT_SUPPORTED', 'partitions')
    if (!log.supports.flushSync) t.equal((await failureOf(async () => log.flushSync()))?.code, 'ERR_NOT_SUPPORTED', 'flushSync')
    if (!log.supports.durable) t.equal((await failureOf(async () => log.durable))?.code, 'ERR_NOT_SUPPORTED', 'durable')
    if (!log.supports.onCorrupt) {
      t.equal((await failureOf(() => collect(log.stream({ onCorrupt: 'skip' }))))?.code, 'ERR_NOT_SUPPORTED', 'onCorrupt')
    }
  })
}

exports.addAppendTests = addAppendTests
exports.addDeleteTests = addDeleteTests
exports.addLifecycleTests = addLifecycleTests
