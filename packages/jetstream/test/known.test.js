'use strict'
// An answer is compared with what was known when it was asked, whatever has happened while it was under way. A fake
// server holds answers back until the test lets them go.

const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { collect, createRandom, failureOf, until } = require('@millrace/testkit')
const { JetStreamLog } = require('..')
const { NO_RESPONDERS, STREAM_NOT_FOUND, startFakeServer } = require('./fake/server')
const { checkShipped, closeAll, fill, kindsOf, makeSource, shipTo } = require('./ship-helpers')

/** Holds back answers of one kind. */
class Hold {
  #what = ''
  #waiting = []

  delay = (what, isAnswer) => {
    if (isAnswer && what === this.#what) return new Promise((resolve) => this.#waiting.push(resolve))
  }

  begin (what) {
    this.#what = what
  }

  /** Waits until so many answers are held back. */
  held (count = 1) {
    return until(() => this.#waiting.length >= count)
  }

  /** Lets all go; the last one first if they are reversed. */
  end ({ isReversed = false } = {}) {
    this.#what = ''
    const waiting = this.#waiting.splice(0)
    for (const resolve of isReversed ? waiting.reverse() : waiting) resolve()
  }
}

/** @type {(run: (context: any) => Promise<void>, options?: any) => (t: any) => Promise<void>} */
function withFake (run, options) {
  return async (t) => {
    const hold = new Hold()
    const server = await startFakeServer({ delay: hold.delay, ...options })
    const logs = []
    const open = (more = {}) => {
      logs.push(JetStreamLog({ servers: server.url, stream: 'events', codec: jsonCodec, timeout: 3000, ...more }))
      return logs[logs.length - 1]
    }
    await run({ t, hold, server, open, stream: () => server.streams.get('events') })
    for (const log of logs) await log.close()
    server.close()
  }
}

const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index)
/** Nobody answers these if there is no stream. */
const SILENT = ['PUBLISH', 'DIRECT.GET', 'CONSUMER.MSG.NEXT']
const codeOf = async (run) => (await failureOf(run))?.code ?? 'none'

async function valuesOf (log, options = {}) {
  return collect(log.stream({ seqs: false, ...options }))
}

tape('js-false-replaced: a look at the stream beside appends does not say that it was replaced', withFake(async ({ t, hold, open }) => {
  const writer = open()
  await writer.append('a')
  const reader = open()
  await reader.ready()
  for (const [call, code] of [[() => reader.get(1e9), 'ERR_RECORD_NOT_FOUND'], [() => reader.del(1e9), 'ERR_RECORD_NOT_FOUND'],
    [() => reader.stats(), 'none'], [() => reader.shipTarget().readEnd(), 'none'], [() => reader.last(), 'none']]) {
    hold.begin('STREAM.INFO')
    const answer = codeOf(call)
    await hold.held()
    const seq = await writer.append(['b', 'c'])
    await until(() => reader.since.value === seq)
    hold.end()
    t.equal(await answer, code, String(call))
    t.equal(await reader.append('d'), seq + 1, 'and it goes on')
  }
}))

tape('js-false-deleted: a record that arrives while it is looked for is not called deleted', withFake(async ({ t, hold, open }) => {
  const writer = open()
  await writer.append('a')
  const reader = open()
  await reader.ready()
  for (const value of ['b', 'c']) {
    hold.begin('DIRECT.GET')
    const answer = reader.get(reader.since.value + 1)
    await hold.held()
    const seq = await writer.append(value)
    if (value === 'b') await until(() => reader.since.value === seq)
    hold.end()
    t.equal(await answer, value)
  }
  await writer.del(2)
  t.equal(await codeOf(() => reader.get(2)), 'flumelog:deleted')
  t.equal(await codeOf(() => reader.get(4)), 'ERR_RECORD_NOT_FOUND')
}))

tape('append: acknowledgements that come in another order are those of the stream', withFake(async ({ t, hold, open }) => {
  const log = open({ config: { allow_atomic: false } })
  await log.append('a')
  hold.begin('PUBLISH')
  const appended = [log.append('b'), log.append(['c', 'd'])]
  await hold.held(3)
  hold.end({ isReversed: true })
  t.deepEqual(await Promise.all(appended), [2, 4])
  t.deepEqual(await valuesOf(log), ['a', 'b', 'c', 'd'])
}))

tape('append: a leader that steps down says so without a number, and is asked again', withFake(async ({ t, server, open }) => {
  const log = open()
  await log.append('a')
  let refusals = 0
  server.refuse = (what) => what === 'PUBLISH' && refusals++ < 3 ? { code: 503, description: 'raft: not leader' } : null
  t.equal(await log.append('b'), 2)
  t.equal(await log.append(['c', 'd']), 4)
  t.ok(refusals > 3)
  refusals = 0
  const lost = { code: 503, err_code: 10063, description: 'expected stream sequence does not match' }
  server.refuse = (what) => what === 'PUBLISH' && refusals++ < 2 ? lost : null
  t.equal(await log.append('d2'), 5, 'the same, if messages before it were lost')
  server.refuse = () => ({ code: 503, err_code: 10077, description: 'stream closed' })
  t.equal(await codeOf(() => open({ timeout: 200 }).append('e')), 'ERR_SERVER_UNAVAILABLE')
  server.refuse = () => ({ code: 503, err_code: 10077, description: 'maximum bytes exceeded' })
  t.equal(await codeOf(() => log.append('e')), 'ERR_LOG_FULL')
  server.refuse = () => null
}))

const READS = {
  get: (log) => log.get(10),
  getMany: async (log) => (await log.getMany([9, 10]))[1],
  idOf: async (log) => await log.idOf(10) && 9,
  last: async (log) => (await log.last())?.value,
  stream: async (log) => (await valuesOf(log, { gt: 5 })).at(-1),
  long: async (log) => (await valuesOf(log)).at(-1),
  reverse: async (log) => (await valuesOf(log, { reverse: true }))[0],
  live: async (log) => (await valuesOf(log, { live: true, limit: 10 })).at(-1)
}

for (const [name, read] of Object.entries(READS)) {
  tape(`what a leader that others have deposed lacks is not called deleted: ${name}`, async (t) => {
    const server = await startFakeServer({ lag: () => Infinity })
    const log = JetStreamLog({ servers: server.url, stream: 'events', codec: jsonCodec, replicas: 3 })
    await log.append(range(0, 10))
    for (const count of [1, 2, 3]) {
      let left = count
      server.lacks = () => left-- > 0 ? 2 : 0
      t.equal(await read(log), 9)
      t.ok(left < count, 'it was asked')
    }
    await log.del([7, 10])
    if (name !== 'live') t.notEqual(await read(log).catch((err) => err.code), 9, 'what is deleted, is')
    await log.close()
    server.close()
  })
}

tape('del: a deletion whose answer was lost is made once, also of the first record', withFake(async ({ t, hold, open }) => {
  const log = open({ timeout: 6000 })
  await log.append(['a', 'b', 'c'])
  for (const seq of [2, 1, 3]) {
    hold.begin('STREAM.MSG.DELETE')
    const deleted = codeOf(() => log.del(seq))
    await hold.held()
    hold.begin('')
    t.equal(await deleted, 'none')
    hold.end()
    t.equal(await codeOf(() => log.del(seq)), 'none', 'again')
    t.equal(await codeOf(() => log.get(seq)), 'flumelog:deleted')
  }
}))

tape('stream: what is read again after a deletion, and what is read ahead, are not mixed up', withFake(async ({ t, hold, server, open }) => {
  const log = open({ timeout: 20_000 })
  await log.append(range(0, 9000))
  let asked = 0
  server.refuse = (what) => {
    if (what !== 'CONSUMER.MSG.NEXT') return null
    hold.begin('CONSUMER.CREATE')
    // The consumer of what is read ahead is lost, so another one is made.
    return asked++ === 1 ? NO_RESPONDERS : null
  }
  const values = log.stream({ seqs: false })[Symbol.asyncIterator]()
  const read = []
  // The first ones are read one by one.
  while (read.length < 100) read.push((await values.next()).value)
  await hold.held()
  await log.del(9000)
  const next = values.next()
  await hold.held(2)
  server.refuse = () => null
  hold.end()
  read.push((await next).value)
  for await (const value of values) read.push(value)
  t.equal(read.length, 8999)
  t.equal(read.findIndex((value, index) => value !== index), -1, 'each once, in order')
}))

for (const torn of [0, 1, 5, 9, 10]) {
  tape(`append: a batch of which a server has kept ${torn} of 10 in a power cut is completed`, withFake(async ({ t, open, stream }) => {
    const log = open({ timeout: 20_000 })
    await log.append('first')
    stream().torn = torn
    const seqs = await log.append(range(0, 10), { seqs: true })
    t.deepEqual(seqs, range(2, 12))
    t.deepEqual(await valuesOf(log), ['first', ...range(0, 10)])
  }))
}

tape('a leader that was replaced, and does not know it, is not believed', withFake(async ({ t, server, open, stream }) => {
  const log = open({ replicas: 3, follow: false })
  await log.append(['a', 'b', 'c'])
  server.staleBy = 2
  const answer = codeOf(() => log.get(9))
  await sleep(400)
  server.staleBy = 0
  t.equal(await answer, 'ERR_RECORD_NOT_FOUND')
  stream().config.num_replicas = 1
  server.staleBy = 2
  t.equal(await codeOf(() => log.get(9)), 'ERR_LOG_REPLACED', 'a server that is alone is')
}))

tape('ship: an older record as the last one, of a leader that was deposed, is no other shipper', withFake(async ({ t, hold, server, open }) => {
  const source = await makeSource(10)
  const target = open({ replicas: 3, timeout: 500 })
  const shipper = shipTo(source, target)
  await shipper.drained()
  hold.begin('PUBLISH')
  await fill(source, 10, 10)
  await hold.held()
  server.deposed = { count: 2, last: 10 }
  // The records have arrived, and the shipper gets no answer.
  await until(() => shipper.reports.length > 0)
  hold.end()
  await shipper.drained()
  t.deepEqual(kindsOf(shipper), ['retry', 'recovered'])
  t.ok(server.deposed.count < 1, 'it was asked again')
  await checkShipped(t, source, target, 20)
  await closeAll(shipper, source)
}))

tape('ship: an older record as the last one is no other shipper, also if others were deleted', withFake(async ({ t, server, open, stream }) => {
  const source = await makeSource(20)
  const target = open({ replicas: 3, timeout: 500 })
  const shipper = shipTo(source, target)
  await shipper.drained()
  stream().delete(5)
  server.deposed = { count: 2, last: 10 }
  await fill(source, 10, 20)
  await shipper.drained()
  t.deepEqual(kindsOf(shipper), [])
  stream().delete(30)
  await fill(source, 10, 30)
  await shipper.drained()
  t.deepEqual(kindsOf(shipper), [], 'and the last one may be deleted')
  t.deepEqual((await valuesOf(target)).map(({ n }) => n), range(0, 40).filter((n) => n !== 4 && n !== 29))
  await closeAll(shipper, source)
}))

tape('ship: a leader that was deposed, to a shipper that begins, is no target that was reset', withFake(async ({ t, server, open }) => {
  const source = await makeSource(20)
  const before = shipTo(source, open({ replicas: 3 }))
  await before.drained()
  await before.close()
  server.staleBy = 5
  server.lacks = () => server.staleBy
  const target = open({ replicas: 3 })
  const shipper = shipTo(source, target)
  await sleep(400)
  server.staleBy = 0
  await fill(source, 10, 20)
  await shipper.drained()
  t.deepEqual(kindsOf(shipper), [])
  await checkShipped(t, source, target, 30)
  await closeAll(shipper, source)
}))

const REFUSALS = [
  { code: 400, err_code: 10071, description: 'wrong last sequence: 5' },
  { code: 400, err_code: 10164, description: 'wrong last sequence' },
  { code: 400, err_code: 10201, description: 'atomic publish batch contains duplicate message id' },
  { code: 409, err_code: 10158, description: 'duplicate message id is in process' },
  { code: 503, err_code: 10077, description: 'raft: not leader' },
  { code: 503, description: 'raft: not leader' }
]

for (const error of REFUSALS) {
  tape(`ship: what a leader that was deposed refuses, and the new one takes: ${error.description}`, withFake(async ({ t, server, open }) => {
    const source = await makeSource(100)
    const target = open({ replicas: 3 })
    let count = 0
    server.overrule = (what) => what === 'PUBLISH' && count++ % 3 > 0 ? error : null
    const shipper = shipTo(source, target, { batch: { count: 10 } })
    await shipper.drained()
    t.deepEqual(kindsOf(shipper), ['retry', 'recovered'])
    await checkShipped(t, source, target, 100)
    await closeAll(shipper, source)
  }))
}

const seed = Date.now() % 2 ** 31
const random = createRandom(seed)

tape(`replicas: one that is behind leaves nothing out, seed ${seed}`, withFake(async ({ t, open }) => {
  const log = open({ replicas: 3 })
  await log.append(Array.from({ length: 200 }, (_, n) => n))
  await log.del(150)
  const all = Array.from({ length: 200 }, (_, n) => n).filter((n) => n !== 149)
  t.deepEqual(await valuesOf(log), all)
  t.deepEqual(await valuesOf(log, { reverse: true }), [...all].reverse())
  for (let from = 0; from < 200; from += 7) {
    t.deepEqual(await valuesOf(log, { gt: from, limit: 20 }), all.filter((n) => n >= from).slice(0, 20))
  }
  t.deepEqual(await Promise.all(all.map((n) => log.get(n + 1))), all)
  // Each answer is that of another replica, and each lacks up to fifty records.
}, { lag: () => random(50) }))

for (const values of [['b'], range(0, 10)]) {
  const what = values.length === 1 ? 'a record' : 'a batch'
  tape(`append: ${what} that a full leader refuses, which others have deposed, while the new one takes it`, withFake(async ({ t, server, open }) => {
    const log = open({ replicas: 3, config: { max_msgs: 12 } })
    await log.append('a')
    let count = 0
    const full = { code: 503, err_code: 10077, description: 'maximum messages exceeded' }
    server.overrule = (what) => what === 'PUBLISH' && count++ === 0 ? full : null
    t.equal(await log.append(values), 1 + values.length)
    t.deepEqual(await valuesOf(log), ['a', ...values])
    const results = await Promise.all([1, 2, 3].map(() => codeOf(() => log.append(range(0, 12)))))
    t.deepEqual(results, ['ERR_LOG_FULL', 'ERR_LOG_FULL', 'ERR_LOG_FULL'], 'one that is full is believed')
  }))
}

for (const [title, range] of Object.entries({ short: { limit: 50 }, long: {}, reverse: { reverse: true } })) {
  tape(`replicas: what none of them ever gets, the leader is asked for: ${title}`, withFake(async ({ t, open }) => {
    const log = open({ replicas: 3 })
    const all = Array.from({ length: 200 }, (_, n) => n)
    await log.append(all)
    await log.del([1, 150])
    const left = all.filter((n) => n !== 0 && n !== 149)
    const wanted = range.reverse ? left.reverse() : left.slice(0, range.limit)
    t.deepEqual(await valuesOf(log, range), wanted)
  }, { lag: () => Infinity }))
}

tape('replicas: what none of them ever gets, the check of what was shipped asks the leader for', async (t) => {
  let lag = 0
  const server = await startFakeServer({ lag: () => lag })
  const source = await makeSource(50)
  const target = JetStreamLog({ servers: server.url, stream: 'shipped', codec: jsonCodec, replicas: 3 })
  const shipper = shipTo(source, target)
  await shipper.drained()
  lag = Infinity
  await checkShipped(t, source, target, 50)
  await closeAll(shipper, target, source)
  server.close()
})

const CALLS = {
  append: (log) => log.append('d'),
  get: (log) => log.get(9),
  del: (log) => log.del(1),
  stats: (log) => log.stats(),
  reverse: (log) => valuesOf(log, { reverse: true }),
  nothing: (log) => log.append([])
}

for (const [call, run] of Object.entries(CALLS)) {
  tape(`a server of a cluster that says that there is no stream, while it moves, is not believed: ${call}`, withFake(async ({ t, server, open }) => {
    const log = open({ follow: false })
    await log.append(['a', 'b', 'c'])
    const count = () => codeOf(() => run(log))
    const code = await count()
    let left = 3
    server.refuse = (what) => left-- > 0 ? (SILENT.includes(what) ? NO_RESPONDERS : STREAM_NOT_FOUND) : null
    t.equal(await count(), call === 'get' ? 'ERR_RECORD_NOT_FOUND' : code)
    t.ok(left < 3 || call === 'nothing', 'it was asked')
    server.refuse = (what) => SILENT.includes(what) ? NO_RESPONDERS : STREAM_NOT_FOUND
    t.equal(await codeOf(() => log.append('e')), 'ERR_SERVER_UNAVAILABLE', 'not at once')
    server.refuse = () => null
    t.equal(await codeOf(() => log.append('e')), 'none', 'it goes on')
  }, { cluster: 'fake' }))
}

for (const [title, replace] of Object.entries({
  'was made anew': ({ server }) => {
    const { config } = server.streams.get('events')
    server.deleteStream('events')
    server.make('events', config)
  },
  'was restored from an older copy': ({ server, copy }) => server.restore('events', copy),
  'was deleted': ({ server }) => server.deleteStream('events')
})) {
  for (const call of Object.keys(CALLS)) {
    tape(`replaced: a stream that ${title} is noticed by ${call}`, withFake(async ({ t, server, open }) => {
      const log = open({ follow: call === 'nothing' })
      await log.append('a')
      const copy = server.streams.get('events').copy()
      await log.append(['b', 'c'])
      await log.ready()
      replace({ server, copy })
      if (call === 'nothing') await until(async () => await codeOf(() => log.append([])) === 'ERR_LOG_REPLACED')
      t.equal(await codeOf(() => CALLS[call](log)), 'ERR_LOG_REPLACED')
      t.equal(await codeOf(() => log.get(1)), 'ERR_LOG_REPLACED', 'for good')
    }))
  }
}

tape('open: a stream that remembers ids for too short a time is refused', withFake(async ({ t, server, open, stream }) => {
  await open().append('a')
  stream().config.duplicate_window = 5e9
  const err = await failureOf(() => open().ready())
  t.equal(err?.code, 'ERR_NOT_SUPPORTED', err?.message)
  t.equal(await codeOf(() => open({ timeout: 2500 }).ready()), 'none')
  t.equal(await codeOf(() => open({ stream: 'short', config: { duplicate_window: 1e9 } }).ready()), 'ERR_NOT_SUPPORTED')
  t.notOk(server.streams.has('short'), 'and not made')
  t.equal(await codeOf(() => open({ stream: 'aging', config: { max_age: 60e9 } }).ready()), 'none')
  t.equal(server.streams.get('aging').config.duplicate_window, 60e9, 'not longer than records live')
}))

tape('callbacks: one that throws is seen once, and the log goes on', withFake(async ({ t, open }) => {
  const log = open()
  await log.append(['a', 'b', 'c', 'd'])
  /** Names and arguments; the callback comes last. */
  const calls = [['append', 'e'], ['append', ['e', 'f']], ['append', []], ['appendOnce', ['g'], ['1']], ['get', 1], ['get', 1e9],
    ['getMany', [1, 2]], ['first'], ['last'], ['count'], ['scan', {}, () => {}], ['del', 3], ['idOf', 1], ['idOf', 1e9], ['stats'],
    ['sync'], ['ready'], ['drained']]
  const [uncaught, rejected] = [[], []]
  const note = (err) => { uncaught.push(err.message) }
  const noteRejected = (err) => { rejected.push(err) }
  process.on('uncaughtException', note).on('unhandledRejection', noteRejected)
  for (const [index, [name, ...args]] of calls.entries()) {
    const message = `thrown by ${name} ${index}`
    try {
      log[name](...args, () => { throw new Error(message) })
    } catch (err) {
      // It called back before it returned.
      note(err)
    }
    await until(() => uncaught.includes(message))
  }
  log.since(() => { throw new Error('thrown by a listener') }, false)
  t.equal(await log.append('h'), 9, 'the log goes on')
  await until(() => uncaught.includes('thrown by a listener'))
  process.off('uncaughtException', note).off('unhandledRejection', noteRejected)
  t.deepEqual([uncaught.length, rejected], [calls.length + 1, []])
}))

for (const [title, harm] of Object.entries({
  'the last record is lost on its way': (consumer) => { consumer.losing = 1 },
  'the replica of its consumer is behind for good': (consumer) => { consumer.isStuck = true }
})) {
  tape(`follow: ${title}`, withFake(async ({ t, open, stream }) => {
    const writer = open({ follow: false, replicas: 3 })
    await writer.append('a')
    const reader = open({ replicas: 3 })
    await reader.ready()
    const [[, consumer]] = stream().consumers
    harm(consumer)
    const seq = await writer.append('b')
    await until(() => reader.since.value === seq)
    t.deepEqual(await valuesOf(reader), ['a', 'b'])
    t.equal(await writer.append('c').then((last) => until(() => reader.since.value === last).then(() => last)), seq + 1, 'it goes on')
  }))
}

tape('follow: a consumer that is deleted, or lost with its server, is replaced within seconds', withFake(async ({ t, open, stream }) => {
  const writer = open({ follow: false })
  await writer.append('a')
  const reader = open()
  await reader.ready()
  for (const status of ['409 Consumer Deleted', '409 Server Shutdown', null]) {
    const [[name, consumer]] = stream().consumers
    stream().consumers.delete(name)
    consumer.end(status)
    const seq = await writer.append('b')
    const beganMs = performance.now()
    await until(() => reader.since.value === seq)
    t.ok(performance.now() - beganMs < 20_000, `${status}`)
  }
}))
