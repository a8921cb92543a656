'use strict'
// What a writer does while its log works: batches, flushes, eager levels, levels that are switched, a full queue.

const tape = require('tape')
const { binaryCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { collect, createRandom, newPath, until } = require('@millrace/testkit')
const { LogWriter, lines, preEncoded } = require('..')
const { MemoryLog, checkCounts, collector, failure } = require('./memory-log')

const opened = () => new Promise((resolve) => setImmediate(resolve))
const silent = { onReport: () => {} }

async function create (options, logOptions) {
  const log = new MemoryLog(logOptions)
  const standardError = collector()
  const writer = LogWriter(log, { standardError, ...silent, ...options })
  await opened()
  return { log, writer, standardError }
}

tape('batches: records wait until there are enough, or enough bytes, or the oldest has waited long', async (t) => {
  const { log, writer } = await create({ batch: { count: 3, bytes: 100, ageMs: 2 ** 30 } })
  writer.write('1')
  writer.write('2')
  await opened()
  t.deepEqual(log.records, [])
  writer.write('3')
  await opened()
  t.deepEqual(log.records, ['1', '2', '3'], 'enough')
  writer.write('4'.repeat(100))
  await opened()
  t.equal(log.records.length, 4, 'enough bytes')
  checkCounts(t, writer)
  await writer.close()
  const { log: quick, writer: trickle } = await create({ batch: { ageMs: 5 } })
  trickle.write('5')
  t.deepEqual(quick.records, [])
  await until(() => quick.records.length > 0)
  t.deepEqual(quick.records, ['5'], 'a trickle')
  checkCounts(t, trickle)
  await trickle.close()
})

tape('write: a condition is refused, and nothing is written without it', async (t) => {
  const { log, writer } = await create()
  t.throws(() => writer.write('1', { if: { where: [], since: -1 } }), { code: 'ERR_NOT_SUPPORTED' })
  t.ok(writer.write('2', {}), 'a logger is not stopped by another unknown level')
  await writer.flush()
  t.deepEqual(log.records, ['2'])
  checkCounts(t, writer)
  await writer.close()
})

tape('flush: all earlier records are in the log, and synced unless that is left out', async (t) => {
  const { log, writer } = await create()
  for (let i = 0; i < 10; i++) writer.write(String(i))
  await writer.flush({ sync: false })
  t.equal(log.records.length, 10)
  t.equal(log.syncCount, 0)
  writer.write('a')
  await writer.flush()
  t.equal(log.syncCount, 1)
  writer.write('b')
  t.equal(writer.flushSync(), true)
  t.equal(log.records.at(-1), 'b')
  t.equal(writer.counters().total.queued, 0)
  t.equal(await writer.flush({ synch: true }).catch(({ code }) => code), 'ERR_INVALID_ARGUMENT')
  t.throws(() => writer.flushSync({ sync: 1 }), { code: 'ERR_INVALID_ARGUMENT' })
  await writer.close()
})

tape('records: strings and bytes are kept as they are, values are encoded at once', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines })
  const writer = LogWriter(log, silent)
  const line = Buffer.from('{"a":1,"a":2}\n')
  const value = { n: 1 }
  writer.write(line)
  writer.write('{"b":3}')
  writer.write(value)
  line.fill(0)
  value.n = 2
  const circular = {}
  circular.self = circular
  writer.write(circular, 'warn')
  await writer.close()
  const found = await collect(log.stream({ seqs: false }))
  t.deepEqual(found.slice(0, 3), [{ a: 2 }, { b: 3 }, { n: 1 }])
  t.match(found[3].msg, /could not be encoded/)
  t.equal(found[3].level, 40)
  t.equal(await log.count({ where: { path: 'b', equals: 3 } }), 1)
  await log.close()
  const plain = OffsetLog(log.filename, { codec: jsonCodec })
  t.equal(await plain.count(), 4, 'jsonCodec reads the log')
  await plain.close()
})

tape('records: other codecs', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: preEncoded(binaryCodec) })
  const writer = LogWriter(log, { codec: binaryCodec, queue: { count: 2 }, whenFull: 'drop-new' })
  for (let n = 0; n < 3; n++) writer.write({ n, at: new Date(n) })
  await writer.close()
  const found = await collect(log.stream({ seqs: false }))
  t.deepEqual(found.slice(0, 2), [{ n: 0, at: new Date(0) }, { n: 1, at: new Date(1) }])
  t.equal(found[2].gap.count, 1)
  await log.close()
})

tape('records: a log that would encode them again is refused, whether given or as a replacement', async (t) => {
  const refused = { bytes: false, lines: false, json: true, binary: true, preEncoded: false }
  const codecs = {
    bytes: undefined,
    lines,
    json: jsonCodec,
    binary: binaryCodec,
    preEncoded: preEncoded(binaryCodec)
  }
  for (const [name, codec] of Object.entries(codecs)) {
    const log = OffsetLog(newPath('log'), { codec })
    try {
      const writer = LogWriter(log, silent)
      t.notOk(refused[name], name)
      writer.write({ n: 1 })
      await writer.close()
      t.equal(await log.count(), 1)
    } catch (err) {
      t.ok(refused[name], `${name}: ${err.message}`)
      t.equal(err.code, 'ERR_INVALID_ARGUMENT')
    }
    await log.close()
  }
  const reports = []
  const file = newPath('log')
  const broken = OffsetLog(file, { codec: lines })
  await broken.close()
  const next = OffsetLog(`${file}.next`, { codec: jsonCodec })
  const onReport = (err) => reports.push(err.message)
  const writer = LogWriter(broken, { onReport, replace: () => next, standardError: collector() })
  writer.write({ n: 1 })
  await writer.close().catch(() => {})
  t.ok(reports.some((message) => message.includes('encode them again')), reports.join('; '))
  t.equal(await next.count(), 0)
  await next.close()
})

tape('eager: records of a level are written or synced before write returns, with all before them', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: lines, fsync: 'never' })
  const writer = LogWriter(log, silent)
  await log.ready()
  writer.write({ n: 1 })
  t.equal(log.since.value, -1)
  writer.write({ n: 2 }, 'error')
  t.equal(await log.count(), 2)
  t.ok(log.durable.value < log.since.value)
  writer.write({ n: 3 }, 60)
  t.equal(log.durable.value, log.since.value)
  t.equal(writer.counters().eager, 2)
  t.deepEqual(writer.counters().levels.fatal, { submitted: 1, written: 1, dropped: 0, filtered: 0, queued: 0 })
  await writer.close()
  await log.close()
})

tape('eager: in a log without flushSync, records are written as soon as the log takes them', async (t) => {
  const { log, writer } = await create({}, { hasFlushSync: false })
  writer.write('a', 'error')
  t.equal(writer.flushSync(), false)
  await writer.flush()
  t.deepEqual(log.records, ['a'])
  await writer.close()
})

tape('levels: are switched while the writer runs, each writer for itself', async (t) => {
  const { log, writer } = await create({ level: 'info' })
  const other = await create()
  for (const each of [writer, other.writer]) each.write('a', 'debug')
  writer.setLevel('debug')
  writer.write('b', 'debug')
  writer.disable('debug')
  t.equal(writer.isEnabled('debug'), false)
  writer.write('c', 20)
  writer.enable('debug')
  writer.write('d', 'debug')
  writer.write('e', 'audit')
  writer.write('f', 35)
  writer.setLevel(36)
  writer.write('g', 35)
  await writer.flush()
  t.deepEqual(log.records, ['b', 'd', 'e', 'f'])
  const { levels } = writer.counters()
  t.deepEqual(levels.debug, { submitted: 4, written: 2, dropped: 0, filtered: 2, queued: 0 })
  t.equal(levels.audit.written, 1)
  t.equal(levels['35'].filtered, 1)
  t.throws(() => writer.setLevel('nothing'), { code: 'ERR_INVALID_ARGUMENT' })
  for (let n = 1000; n < 2000; n++) writer.write('x', n)
  t.ok(Object.keys(writer.counters().levels).length < 120, 'not one for every number')
  checkCounts(t, writer)
  await writer.close()
  await other.writer.close()
})

tape('levels: of a program of its own are treated as the standard level below them', async (t) => {
  const { log, writer } = await create({ eager: { error: 'written' } })
  writer.addLevels({ audit: 55, notice: 35, error: 1, information: 30, first: 0 })
  t.throws(() => writer.addLevels({ x: '7' }), { code: 'ERR_INVALID_ARGUMENT' })
  writer.write('a', 35)
  writer.write('b', 'information')
  t.deepEqual(log.records, [])
  writer.write('c', 55)
  t.deepEqual(log.records, ['a', 'b', 'c'], 'as error')
  writer.write('d', 1)
  t.equal(log.records.at(-1), 'd', 'the name counts more than the number')
  writer.write('e', 'first')
  const { levels: { audit, notice, info, error, first } } = writer.counters()
  t.deepEqual([audit.written, notice.written, info.written, error.written, first.queued], [1, 1, 1, 1, 1])
  await writer.close()
})

tape('full, write-through: the caller writes, nothing is dropped and memory is bounded', async (t) => {
  const { log, writer } = await create({ queue: { count: 10 }, batch: { count: 4 } })
  t.deepEqual(writer.bound, { count: 10, bytes: 1024 * 1024, ageMs: 100 })
  for (let n = 0; n < 1000; n++) {
    writer.write(String(n))
    if (n + 1 - log.records.length > 10) t.fail('more in memory than the bound')
  }
  await writer.flush()
  t.deepEqual(log.records, Array.from({ length: 1000 }, (_, n) => String(n)))
  const { writeThrough, queuePeak, total } = writer.counters()
  t.ok(writeThrough >= 90)
  t.equal(queuePeak.count, 10)
  t.equal(total.written, 1000)
  await writer.close()
})

tape('full, wait: the caller is told to wait, and writes through if it does not', async (t) => {
  const { log, writer } = await create({ queue: { count: 10 }, whenFull: 'wait' })
  const answers = []
  for (let n = 0; n < 12; n++) answers.push(writer.write(String(n)))
  t.deepEqual(answers, [...Array(10).fill(true), false, false])
  await writer.drained()
  t.ok(writer.counters().total.queued <= 5)
  for (let n = 0; n < 100; n++) writer.write('x')
  t.ok(writer.counters().queuePeak.count <= 20)
  await writer.flush()
  t.equal(log.records.length, 112)
  await writer.close()
})

tape('full, drop-new and drop-old: what is dropped is handed out', async (t) => {
  for (const [whenFull, expected] of [['drop-new', ['3 debug', '4 info']], ['drop-old', ['0 info', '1 info']]]) {
    const dropped = []
    const onDrop = (record, level) => {
      dropped.push(`${record} ${level}`)
      throw new Error('planned')
    }
    const { writer } = await create({ queue: { count: 3 }, whenFull, onDrop })
    for (let n = 0; n < 5; n++) writer.write(`${n}`, n === 3 ? 'debug' : 'info')
    t.deepEqual(dropped, expected, whenFull)
    await writer.close()
  }
})

tape('full, drop-new and drop-old: a gap record stands where records are missing', async (t) => {
  const kept = (log) => log.records.map((text) => text.startsWith('{') ? JSON.parse(text).gap : text)
  const { log, writer } = await create({ queue: { count: 3 }, whenFull: 'drop-new' })
  for (const text of ['a', 'b', 'c', 'd', 'e']) writer.write(text, text === 'd' ? 'debug' : 'info')
  await writer.flush()
  writer.write('f')
  await writer.flush()
  const [, , , gap] = kept(log)
  t.deepEqual(kept(log).map((one) => one.count ?? one), ['a', 'b', 'c', 2, 'f'])
  t.deepEqual([gap.levels, gap.reason], [{ debug: 1, info: 1 }, 'drop-new'])
  t.ok(gap.from <= gap.to && gap.to <= Date.now())
  await writer.close()
  const old = await create({ queue: { count: 3 }, whenFull: 'drop-old' })
  for (const text of ['a', 'b', 'c', 'd', 'e']) old.writer.write(text)
  await old.writer.flush()
  t.deepEqual(kept(old.log).map((one) => one.count ?? one), [2, 'c', 'd', 'e'])
  t.deepEqual(old.writer.counters().levels.info, { submitted: 5, written: 3, dropped: 2, filtered: 0, queued: 0 })
  await old.writer.close()
})

tape('appendSync: is used for records that must be written at once, behind what is in flight', async (t) => {
  const { log, writer } = await create({ batch: { count: 2 } }, { hasAppendSync: true })
  writer.write('1', 'error')
  t.deepEqual([log.records, log.appendCount], [['1'], 1])
  writer.write('2', 'fatal')
  t.deepEqual([log.records, log.appendCount, log.flushCount], [['1', '2'], 2, 1], 'fatal is synced too')
  log.isSlow = true
  for (const text of ['3', '4', '5']) writer.write(text, 'info')
  writer.write('6', 'error')
  t.deepEqual([log.records, log.appendCount], [['1', '2', '3', '4', '5', '6'], 3], 'a batch was in flight')
  await opened()
  log.notReady = failure('ERR_LOG_NOT_READY')
  writer.write('7', 'error')
  t.deepEqual([log.records.at(-1), log.appendCount], ['7', 3], 'the log appends, but not at once')
  log.notReady = null
  log.isSlow = false
  log.failures.push(failure('ENOSPC'))
  writer.write('8', 'error')
  t.equal(log.records.at(-1), '7')
  await opened()
  await writer.flush()
  t.equal(log.records.at(-1), '8', 'a record that could not be written is kept')
  checkCounts(t, writer)
  await writer.close()
})

tape('batches: a trickle is written although the clock stands still', async (t) => {
  const { log, writer } = await create({ batch: { ageMs: 20 } })
  const { now } = Date
  const standing = now()
  Date.now = () => standing
  writer.write('1')
  await until(() => log.records.length > 0)
  Date.now = now
  t.deepEqual(log.records, ['1'])
  await writer.close()
})

tape('full, write-through: a loop that never lets the event loop turn keeps no record in memory that is written', async (t) => {
  const { log, writer } = await create({ queue: { count: 100 }, batch: { count: 10 } }, { hasAppendSync: true })
  for (let n = 0; n < 1050; n++) writer.write(`${n}`, 'info')
  t.deepEqual([log.records.length, log.flushCount, log.appendCount], [1000, 1, 10], 'only the first batch was in flight')
  await writer.flush()
  t.deepEqual(log.records, Array.from({ length: 1050 }, (_, n) => `${n}`))
  await writer.close()
})

for (const whenFull of ['drop-new', 'drop-old']) {
  tape(`full, ${whenFull}: protected levels are never dropped`, async (t) => {
    const { log, writer } = await create({ queue: { count: 4 }, whenFull, eager: {}, protect: ['warn'] })
    for (let n = 0; n < 20; n++) writer.write(`${n}`, n % 2 ? 'warn' : 'info')
    await writer.flush()
    const { levels } = writer.counters()
    t.equal(levels.warn.written, 10)
    t.deepEqual(log.records.filter((text) => text % 2), ['1', '3', '5', '7', '9', '11', '13', '15', '17', '19'])
    checkCounts(t, writer)
    await writer.close()
  })
}

tape('misuse: options are checked', (t) => {
  const log = new MemoryLog()
  const wrong = [null, { whenFull: 'block' }, { batch: { count: 0 } }, { batch: { size: 1 } }, { eager: { error: 'yes' } },
    { eager: { huge: 'written' } }, { protect: ['huge'] }, { level: 'huge' }, { queue: 5 }, { handleSignals: 1 },
    { codec: {} }, { replace: 1 }, { onReport: 1 }, { onDrop: 1 }, { standardError: 1 }, { levels: { a: 'b' } }, { unknown: 1 }]
  for (const options of wrong) t.throws(() => LogWriter(log, options), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(options))
  t.throws(() => LogWriter({}), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

const seed = Date.now() % 2 ** 31
tape(`counters: whatever happens, every record is counted once, and gap records say what was dropped (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const names = ['debug', 'info', 'warn', 'error', 'fatal']
  for (let round = 0; round < 200; round++) {
    const whenFull = ['write-through', 'wait', 'drop-new', 'drop-old'][random(4)]
    const queue = { count: 1 + random(20), bytes: 20 + random(200) }
    const batch = { count: 1 + random(8), ageMs: 1 + random(5) }
    const hasAppendSync = round % 2 === 0
    const { log, writer, standardError } = await create({ whenFull, queue, batch }, { hasAppendSync })
    let next = 0
    for (let step = 60 + random(100); step > 0; step--) {
      const act = random(40)
      if (act === 0) log.failures.push(failure('ENOSPC'))
      else if (act === 1) log.failures.push((values) => failure('ERR_RECORD_TOO_LARGE', { index: random(values.length) }))
      else if (act === 2) log.isSlow = !log.isSlow
      else if (act < 5) log.answer(random(3))
      else if (act === 5) writer.flush({ sync: false }).catch(() => {})
      else if (act === 6) writer.flushSync()
      else if (act === 7) log.notReady = log.notReady ? null : failure('ERR_LOG_NOT_READY')
      else if (act === 8) writer[random(2) ? 'enable' : 'disable'](names[random(3)])
      else if (act < 12) await opened()
      else writer.write(String(next++).padEnd(4 + random(20)), names[random(names.length)])
      checkCounts(t, writer, `round ${round}`)
    }
    log.isSlow = false
    log.failures = []
    log.answer()
    for (let tries = 0; tries < 20 && writer.counters().total.queued > 0; tries++) await writer.flush().catch(() => {})
    await writer.close()
    checkCounts(t, writer, `round ${round}, closed`)
    const gaps = [...log.records, ...standardError.lines].filter((text) => text.startsWith('{')).map((text) => JSON.parse(text).gap)
    const inLog = log.records.filter((text) => !text.startsWith('{')).length
    const { total, levels, diverted } = writer.counters()
    const aside = standardError.lines.filter((text) => !text.startsWith('{')).length
    const dropped = gaps.reduce((sum, { count }) => sum + count, 0)
    if (total.queued !== 0) t.fail(`round ${round}: ${total.queued} are still queued`)
    if (dropped !== total.dropped || aside !== diverted || inLog + aside !== total.written) {
      return t.fail(`round ${round}: ${JSON.stringify({ total, diverted, dropped, inLog, aside, whenFull, queue })}`)
    }
    for (const name of names) {
      const sum = gaps.reduce((sum, gap) => sum + (gap.levels[name] ?? 0), 0)
      if (sum !== levels[name].dropped) return t.fail(`round ${round}: ${name}: ${sum} in gaps, ${levels[name].dropped} dropped`)
    }
    const found = [...log.records, ...standardError.lines].filter((text) => !text.startsWith('{')).map((text) => text.trim())
    if (new Set(found).size < found.length) return t.fail(`round ${round}: a record is there twice: ${found}`)
  }
  t.pass('200 rounds')
})
