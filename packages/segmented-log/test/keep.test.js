'use strict'
// Chosen records that stay when their segment is dropped, compared with a plain list.

const fs = require('node:fs')
const { callbackify } = require('node:util')
const tape = require('tape')
const { fileStorage, withCalls } = require('@millrace/block-file')
const { withDictionary } = require('@millrace/dictionary')
const { promisesOf } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const where = { path: 'level', equals: 'error' }

async function whenCompressed (log) {
  await until(async () => (await log.segments()).slice(0, -1).every(({ compressed }) => compressed !== null))
}

/** Appends records, every third one an error, a segment for each `perSegment`. */
async function fill (log, count, perSegment = 5) {
  const entries = []
  for (let i = 0; i < count; i++) {
    const value = { i, level: i % 3 === 0 ? 'error' : 'info', text: 'x'.repeat(i % 40), host: 'a host with a long name' }
    entries.push({ seq: await log.append(value), value })
    if (i % perSegment === perSegment - 1) await log.roll()
  }
  return entries
}

const isError = ({ value }) => value.level === 'error'

const kinds = [
  { name: 'plain', codec: jsonCodec, compress: false },
  { name: 'gzip', codec: jsonCodec, compress: 'gzip' },
  { name: 'with a dictionary', codec: withDictionary(jsonCodec), compress: false }
]
for (const { name, codec, compress } of kinds) {
  tape(`keep: chosen records stay with their seqs, in every kind of read (${name})`, async (t) => {
    const folder = newPath('logs')
    const options = { codec, maxCount: 3, keep: { where }, compress, time: (value) => value.i }
    const log = SegmentedLog(folder, options)
    const all = await fill(log, 40)
    // A run of the retention may be under way; this one follows it.
    await log.dropBefore(0)
    if (compress) await whenCompressed(log)
    await check(log)
    const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
    await check(reader)
    await reader.close()
    await log.close()
    const again = SegmentedLog(folder, options)
    await check(again)
    const period = { gte: 3, lt: 19 }
    t.deepEqual((await collect(again.stream({ time: period }))).map(({ value }) => value.i), [3, 6, 9, 12, 15, 18])
    const [, victim] = all.filter(isError)
    await again.del(victim.seq)
    t.equal((await failureOf(() => again.get(victim.seq)))?.code, 'ERR_LOG_SEQ_RETAINED')
    const others = all.slice(30).filter((entry) => !isError(entry))
    t.equal(await again.count(), all.filter(isError).length - 1 + others.length)
    await again.dropBefore(all[12].seq)
    t.deepEqual((await again.first()).value, all[12].value, 'dropBefore drops chosen records too')
    await again.close()

    async function check (log) {
      await log.ready()
      const segments = await log.segments()
      t.ok(segments.length >= 8 && segments.filter(({ kept }) => !kept).length === 3)
      const wholeFrom = segments.find(({ kept }) => !kept).base
      const expected = all.filter((entry) => entry.seq > wholeFrom || isError(entry))
      t.deepEqual(await collect(log.stream()), expected)
      t.deepEqual(await collect(log.stream({ reverse: true })), expected.toReversed())
      t.deepEqual(await collect(log.stream({ where })), all.filter(isError))
      t.equal(await log.count(), expected.length)
      t.deepEqual(await log.first(), expected[0])
      t.deepEqual(await log.last(), all.at(-1))
      let scanned = 0
      await log.scan({ where }, ({ count }) => { scanned += count })
      t.equal(scanned, all.filter(isError).length)
      for (const entry of all) {
        const isThere = expected.includes(entry)
        const value = await log.get(entry.seq).catch(({ code }) => code)
        t.deepEqual(value, isThere ? entry.value : 'ERR_LOG_SEQ_RETAINED')
      }
      const behind = (seq) => expected.filter((entry) => entry.seq > seq)
      for (const { seq } of all) {
        if (seq < wholeFrom - 1) t.equal((await failureOf(() => collect(log.stream({ gt: seq }))))?.code, 'ERR_LOG_SEQ_RETAINED')
        else t.deepEqual(await collect(log.stream({ gt: seq })), behind(seq))
        t.deepEqual(await collect(log.stream({ gt: seq, onRetained: 'skip' })), behind(seq))
        const before = expected.filter((entry) => entry.seq < seq)
        t.deepEqual(await collect(log.stream({ lt: seq, reverse: true })), before.toReversed())
      }
    }
  })
}

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

/** What must be in the log: a list of segments, each a list of records. */
class Model {
  segments = [{ records: [], isKept: false }]
  hold = null
  since = -1
  /** Whether the newest segment never had a record. */
  isEmpty = true

  constructor (maxCount) {
    this.maxCount = maxCount
  }

  append (entry) {
    this.segments.at(-1).records.push(entry)
    this.isEmpty = false
    this.since = entry.seq
  }

  roll () {
    if (!this.isEmpty) this.segments.push({ records: [], isKept: false })
    this.isEmpty = true
  }

  /** The index of the segment of a seq. */
  #find (seq) {
    return Math.max(0, this.segments.findLastIndex(({ base }) => base <= seq))
  }

  retain () {
    const { segments } = this
    const held = this.hold === null ? Infinity : this.#find(this.hold)
    const count = Math.min(segments.length - this.maxCount, held, this.#find(this.since))
    const old = segments.slice(0, Math.max(0, count)).filter(({ isKept }) => !isKept)
    for (const segment of old) {
      segment.isKept = true
      segment.records = segment.records.filter(isError)
    }
    this.segments = segments.filter((segment) => !old.includes(segment) || segment.records.length > 0)
  }

  get records () {
    return this.segments.flatMap(({ records }) => records)
  }
}

tape(`keep: agrees with a list of lists (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(12); round++) {
    const disk = new SimulatedDisk()
    const maxCount = 1 + random(3)
    const options = { codec: jsonCodec, storage: disk.storage, maxCount, keep: { where }, compress: random(2) === 0 ? 'gzip' : false }
    let log = SegmentedLog('/logs', options)
    const model = new Model(maxCount)
    const all = []
    // The bases of the segments are the only thing that the model learns from the log.
    const learn = async () => {
      const segments = await log.segments()
      segments.forEach(({ base }, index) => { model.segments[index].base = base })
      t.deepEqual(segments.map(({ kept }) => kept), model.segments.map(({ isKept }) => isKept))
    }
    const retain = async () => {
      await log.dropBefore(0)
      model.retain()
    }
    const append = async () => {
      const value = { i: all.length, level: random(4) === 0 ? 'error' : 'info' }
      all.push({ seq: await log.append(value), value })
      model.append(all.at(-1))
    }
    const roll = async () => {
      await log.roll()
      model.roll()
      await learn()
      await retain()
    }
    const del = async () => {
      // A log that is opened knows its last record only if that is not deleted.
      const records = model.records.filter(({ seq }) => seq !== model.since)
      if (records.length === 0) return
      const victim = records[random(records.length)]
      await log.del(victim.seq)
      for (const segment of model.segments) segment.records = segment.records.filter((entry) => entry !== victim)
    }
    const hold = async () => {
      if (all.length === 0) return
      model.hold = all[random(all.length)].seq
      await log.hold('h', model.hold)
    }
    const release = async () => {
      model.hold = null
      await log.release('h')
      await retain()
    }
    const reopen = async () => {
      await log.close()
      log = SegmentedLog('/logs', options)
      await retain()
    }
    await log.ready()
    await learn()
    const actions = [append, append, append, append, append, roll, roll, del, hold, release, reopen]
    for (let step = 0; step < 60; step++) {
      await actions[random(actions.length)]()
      await learn()
    }
    t.deepEqual(await collect(log.stream()), model.records)
    t.deepEqual(await collect(log.stream({ where, reverse: true })), model.records.filter(isError).toReversed())
    t.equal(await log.count(), model.records.length)
    for (const { seq, value } of all) {
      const found = await log.get(seq).catch((err) => err.code)
      if (model.records.some((entry) => entry.seq === seq)) t.deepEqual(found, value)
      else t.ok(['flumelog:deleted', 'ERR_LOG_SEQ_RETAINED'].includes(found), found)
    }
    await log.close()
  }
})

/** Runs a test with a clock that only the test moves. */
async function withClock (run) {
  const { now } = Date
  const clock = { ms: Date.UTC(2026, 0, 1) }
  Date.now = () => clock.ms
  try {
    await run(clock)
  } finally {
    Date.now = now
  }
}

const DAY_MS = 24 * 3_600_000
const levels = async (log) => (await collect(log.stream({ seqs: false }))).map(({ day, level }) => day + level)

tape('keep: chosen records go by their own age, even if what was between them is gone', async (t) => {
  await withClock(async (clock) => {
    const disk = new SimulatedDisk()
    const keep = { where, maxAge: 10 * DAY_MS }
    const options = { codec: jsonCodec, storage: disk.storage, segmentDay: 'UTC', maxAge: 3 * DAY_MS, keep }
    let log = SegmentedLog('/logs', options)
    const seen = []
    for (let day = 1; day <= 20; day++, clock.ms += DAY_MS) {
      await log.append({ day, level: 'info' })
      if (day === 2) await log.append({ day, level: 'error' })
      if (day % 5 === 0) {
        await log.close()
        log = SegmentedLog('/logs', options)
      }
      await log.dropBefore(0)
      seen.push((await levels(log)).filter((text) => text === '2error').length)
    }
    // The segment of day 2 ends when that of day 3 begins.
    const days = seen.flatMap((count, i) => count > 0 ? [i + 1] : [])
    t.deepEqual(days, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    t.deepEqual(await levels(log), ['17info', '18info', '19info', '20info'])
    await log.close()
    t.equal(disk.list().length, 4, 'nothing is left behind')
  })
})

tape('keep: the quota holds at every moment, and chosen records outlive the others', async (t) => {
  const disk = new SimulatedDisk()
  const maxSize = 2 ** 20
  let most = 0
  disk.onChange = () => { most = Math.max(most, disk.list().reduce((sum, file) => sum + disk.read(file).length, 0)) }
  const log = SegmentedLog('/logs', { codec: jsonCodec, storage: disk.storage, maxSize, keep: { where } })
  const seqs = []
  for (let i = 0; i < 500; i++) seqs.push(await log.append({ i, level: i % 20 === 0 ? 'error' : 'info', text: 'x'.repeat(5000) }))
  await log.dropBefore(0)
  t.ok(most <= maxSize && most > maxSize / 2, `${most} bytes at most`)
  const found = await collect(log.stream({ where, seqs: false }))
  const whole = await collect(log.stream({ where: { not: where }, seqs: false, limit: 1 }))
  t.ok(found[0].i < whole[0].i - 100, `chosen records from ${found[0].i} on, others from ${whole[0].i} on`)
  t.deepEqual(found.map(({ i }) => i), Array.from({ length: found.length }, (_, i) => 500 - 20 * (found.length - i)), 'none is missing between')
  const { kept, size } = await sizes(log, disk)
  t.ok(kept <= maxSize / 4 && size <= maxSize, `${kept} bytes of ${size} are kept segments`)
  await log.close()
})

async function sizes (log, disk) {
  let [kept, size] = [0, 0]
  for (const segment of await log.segments()) {
    const { length } = disk.read(segment.path)
    size += length
    if (segment.kept) kept += length
  }
  return { kept, size }
}

tape('keep: maxSize bounds the chosen records, and holds are stronger', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog('/logs', { codec: jsonCodec, storage: disk.storage, maxCount: 2, keep: { where, maxSize: 110_000 } })
  const told = []
  log.dropped((dropped) => told.push(dropped))
  const all = await fill(log, 40)
  await log.dropBefore(0)
  const segments = await log.segments()
  t.deepEqual(segments.map(({ kept }) => kept), [true, true, true, false, false])
  t.equal(told.reduce((sum, { kept }) => sum + kept, 0), 7)
  await log.hold('h', segments[0].base)
  await log.roll()
  for (const i of [40, 41]) {
    await log.append({ i, level: 'error' })
    await log.roll()
  }
  await log.dropBefore(0)
  t.equal((await log.segments())[0].base, segments[0].base)
  await log.release('h')
  await log.dropBefore(0)
  t.ok((await log.segments())[0].base > segments[0].base)
  t.equal((await failureOf(() => log.get(all[0].seq)))?.code, 'ERR_LOG_SEQ_RETAINED')
  await log.close()
})

tape('keep: a stream that was overtaken fails, also in another process', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentSize: 2 ** 20, maxCount: 2, keep: { where } })
  for (let i = 0; i < 3000; i++) await log.append({ i, level: i % 50 === 0 ? 'error' : 'info', text: 'x'.repeat(200) })
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r' })
  const begun = [log, reader].map((each) => each.stream({ gte: 1, seqs: false })[Symbol.asyncIterator]())
  for (const iterator of begun) t.equal((await iterator.next()).value.i, 0)
  for (let i = 0; i < 2; i++) {
    await log.roll()
    await log.append({ i, level: 'info' })
  }
  await log.dropBefore(0)
  // Until it sees that, a reader may read all that the file had when it was opened.
  await until(async () => (await reader.segments())[0].kept)
  for (const iterator of begun) {
    t.equal((await failureOf(async () => { while (!(await iterator.next()).done); }))?.code, 'ERR_LOG_SEQ_RETAINED')
  }
  for (const each of [log, reader]) t.equal((await collect(each.stream())).length, 60 + 2)
  await reader.close()
  await log.close()
})

tape('keep: what damage has left of the chosen records is copied', async (t) => {
  const folder = newPath('logs')
  const options = { codec: jsonCodec, maxCount: 1, keep: { where } }
  const log = SegmentedLog(folder, { codec: jsonCodec })
  for (let i = 0; i < 1000; i++) await log.append({ i, level: i % 10 === 0 ? 'error' : 'info', text: 'x'.repeat(200) })
  const [{ path: file }] = await log.segments()
  await log.roll()
  const last = await log.append({ i: 1000, level: 'info' })
  await log.close()
  const handle = fs.openSync(file, 'r+')
  fs.writeSync(handle, Buffer.alloc(100, 1), 0, 100, 100_000)
  fs.closeSync(handle)
  const again = SegmentedLog(folder, options)
  await again.dropBefore(0)
  const found = await collect(again.stream({ seqs: false }))
  t.ok(found.length > 20 && found.length < 101, `${found.length} of 101`)
  t.ok(found.slice(0, -1).every(({ i }) => i % 10 === 0))
  t.equal(again.since.value, last)
  await again.close()
})

tape('keep: a copy that fails because records are deleted meanwhile is made again, and drops no chosen record', async (t) => {
  const folder = newPath('logs')
  const seqs = []
  let isTorn = false
  let count = 0
  // The filter fails as one does that is given a record that is being erased.
  const compile = (filters) => {
    const isWanted = jsonCodec.compile(filters)
    return (buffer, start, end) => {
      if (!isTorn) return isWanted(buffer, start, end)
      isTorn = false
      throw new Error('no record')
    }
  }
  const open = callbackify(async (file, options) => {
    if (file.includes('.chosen') && count++ === 0) {
      await log.del(seqs[2])
      isTorn = true
    }
    return promisesOf(fileStorage).open(file, options)
  })
  const storage = withCalls(fileStorage, { open })
  const log = SegmentedLog(folder, { codec: { ...jsonCodec, compile }, storage, maxCount: 1, keep: { where } })
  for (let i = 0; i < 6; i++) seqs.push(await log.append({ i, level: i % 2 === 0 ? 'error' : 'info' }))
  await log.roll()
  await log.append({ i: 6, level: 'error' })
  await log.dropBefore(0)
  t.deepEqual([count > 1, isTorn], [true, false])
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ i }) => i), [0, 4, 6])
  await log.close()
})

tape('keep: a copy that cannot be made now drops no chosen record, and is made later', async (t) => {
  const disk = new SimulatedDisk()
  const storage = { ...disk.storage }
  let isInTheWay = false
  // Somebody makes a file at the path of the copy, again and again.
  storage.unlink = (name, cb) => disk.storage.unlink(name, (err) => {
    if (isInTheWay && name.endsWith('.chosen.new')) disk.put(name, Buffer.from('of somebody else'))
    cb(err)
  })
  const log = SegmentedLog('/logs', { storage, codec: jsonCodec, maxCount: 1, keep: { where } })
  for (let i = 0; i < 6; i++) await log.append({ i, level: i % 2 === 0 ? 'error' : 'info' })
  isInTheWay = true
  await log.roll()
  await log.append({ i: 6, level: 'error' })
  await log.dropBefore(0)
  t.equal(await log.count({ where }), 4, 'while it is in the way')
  isInTheWay = false
  await log.dropBefore(0)
  t.deepEqual((await collect(log.stream({ seqs: false }))).map(({ i }) => i), [0, 2, 4, 6])
  await log.close()
})

tape('keep: misuse is refused', async (t) => {
  const wrong = [null, {}, { where, maxAge: 0 }, { where, maxSize: '1' }, { where: { path: 'a', is: 1 } }, { where, where2: 1 }, 'error']
  for (const keep of wrong) {
    t.throws(() => SegmentedLog('/tmp/never', { keep }), { code: 'ERR_INVALID_ARGUMENT' })
  }
  t.throws(() => SegmentedLog('/tmp/never', { maxAge: 10, keep: { where, maxAge: 10 } }), /above maxAge/)
  t.throws(() => SegmentedLog('/tmp/never', { maxSize: 2 ** 20, keep: { where, maxSize: 2 ** 21 } }), /above maxSize/)
})

tape('keep: a process that follows meets a thinned out segment before it has opened the next one', async (t) => {
  const disk = new SimulatedDisk()
  const keep = { where: { path: ['level'], equals: 'error' } }
  const writer = SegmentedLog('/logs', { codec: jsonCodec, storage: disk.storage, maxCount: 1, keep })
  for (let n = 0; n < 6; n++) await writer.append({ n, level: n % 3 === 0 ? 'error' : 'info' })
  await writer.sync()
  const held = { isHeld: false, waiting: [] }
  const open = (file, options, cb) => {
    const run = () => disk.storage.open(file, options, cb)
    if (held.isHeld && file.endsWith('.log')) held.waiting.push(run)
    else run()
  }
  const follower = SegmentedLog('/logs', { codec: jsonCodec, storage: { ...disk.storage, open }, flags: 'r' })
  const numbers = async (options) => {
    return (await collect(follower.stream({ seqs: false, ...options }))).map(({ n }) => n)
  }
  t.deepEqual(await numbers(), [0, 1, 2, 3, 4, 5])
  held.isHeld = true
  await writer.roll()
  await writer.append({ n: 6, level: 'info' })
  await writer.dropBefore(0)
  t.equal(await writer.count(), 3)
  await until(() => held.waiting.length > 0)
  t.deepEqual(await numbers({ onRetained: 'skip' }), [0, 1, 2, 3, 4, 5], 'its file is still open')
  held.isHeld = false
  for (const run of held.waiting) run()
  await until(async () => (await numbers({ onRetained: 'skip' })).includes(6))
  t.deepEqual(await numbers(), [0, 3, 6])
  await follower.close()
  await writer.close()
})

tape('keep: a log whose newest segment is a thinned out one goes on behind it', async (t) => {
  const disk = new SimulatedDisk()
  const keep = { where: { path: ['level'], equals: 'error' } }
  const options = { codec: jsonCodec, storage: disk.storage, maxCount: 1, keep }
  const first = SegmentedLog('/logs', options)
  for (let n = 0; n < 6; n++) await first.append({ n, level: n % 3 === 0 ? 'error' : 'info' })
  await first.roll()
  await first.append({ n: 6, level: 'info' })
  await first.dropBefore(0)
  const [, { path }] = await first.segments()
  await first.close()
  await new Promise((resolve) => disk.storage.unlink(path, resolve))
  const numbers = async (log) => {
    return (await collect(log.stream({ seqs: false }))).map(({ n }) => n)
  }
  const reader = SegmentedLog('/logs', { ...options, flags: 'r' })
  t.deepEqual(await numbers(reader), [0, 3])
  await reader.close()
  const log = SegmentedLog('/logs', options)
  await log.append({ n: 7, level: 'info' })
  t.deepEqual(await numbers(log), [0, 3, 7])
  await log.close()
})

tape('keep: a stream that began while a segment was the newest one goes on in what is left of it', async (t) => {
  for (const others of [1, 40]) {
    const log = SegmentedLog('/logs', {
      codec: jsonCodec,
      storage: new SimulatedDisk().storage,
      maxCount: 1,
      keep: { where: { path: ['level'], equals: 'error' } },
      openSegments: 1,
      cache: 0
    })
    const pad = 'x'.repeat(100_000)
    for (let n = 0; n < 8; n++) await log.append({ n, level: 'error', pad })
    await log.roll()
    for (let n = 8; n < 12; n++) await log.append({ n, level: n % 2 === 0 ? 'error' : 'info' })
    const stream = log.stream({ onRetained: 'skip', seqs: false })[Symbol.asyncIterator]()
    const numbers = [(await stream.next()).value.n]
    for (let n = 12; n < 12 + others; n++) await log.append({ n, level: n % 2 === 0 ? 'error' : 'info' })
    await log.roll()
    await log.append({ n: 99, level: 'info' })
    await log.dropBefore(0)
    for (let item = await stream.next(); !item.done; item = await stream.next()) numbers.push(item.value.n)
    t.deepEqual(numbers.slice(0, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10])
    await log.close()
  }
})

tape('keep: a reversed stream goes on before a segment that is dropped because no record in it was chosen', async (t) => {
  const gate = { reached: () => {}, open: () => {} }
  const isReached = new Promise((resolve) => { gate.reached = resolve })
  const isOpen = new Promise((resolve) => { gate.open = resolve })
  const unlink = (file, cb) => {
    if (!file.endsWith('.log')) return fileStorage.unlink(file, cb)
    gate.reached()
    isOpen.then(() => fileStorage.unlink(file, cb))
  }
  const log = SegmentedLog(newPath('logs'), { codec: jsonCodec, maxCount: 3, keep: { where }, storage: { ...fileStorage, unlink } })
  const seqs = []
  for (const levels of [['error'], ['info', 'info'], ['info']]) {
    for (const level of levels) seqs.push(await log.append({ level }))
    await log.roll()
  }
  const iterator = log.stream({ reverse: true, values: false })[Symbol.asyncIterator]()
  const next = async () => (await iterator.next()).value
  t.deepEqual([await next(), await next()], [seqs[3], seqs[2]], 'it is in the segment without a chosen record')
  await log.append({ level: 'info' })
  await log.roll()
  await log.append({ level: 'info' })
  const dropping = log.dropBefore(0)
  await isReached
  t.deepEqual([await next(), await next(), await next()], [seqs[1], seqs[0], undefined])
  gate.open()
  await dropping
  t.deepEqual((await log.segments()).map(({ kept }) => kept), [true, false, false, false])
  await log.close()
})

tape('keep: a folder that could not be synced drops no chosen record, and a copy in its place keeps its mark', async (t) => {
  for (let [at, isOver, forGood] = [0, false, false]; !isOver || forGood; forGood = !forGood, at += forGood ? 0 : 1) {
    let [calls, isArmed] = [0, false]
    const isHit = () => calls++ === at || (forGood && calls > at)
    const disk = new SimulatedDisk({
      decide: ({ name }) => isArmed && name === 'syncFolder' && isHit() ? { code: 'EIO' } : {}
    })
    const openLog = () => SegmentedLog('/logs', { storage: disk.storage, codec: jsonCodec, cache: 0, maxCount: 2, keep: { where } })
    const log = openLog()
    const seqs = []
    for (let i = 0; i < 6; i++) {
      seqs.push(await log.append({ i, level: i % 2 === 0 ? 'error' : 'info' }))
      if (i % 2 === 1 && i < 5) await log.roll()
    }
    await log.roll()
    isArmed = true
    await failureOf(() => log.dropBefore(0))
    isOver = calls <= at
    isArmed = forGood
    const check = async (log, when) => {
      const found = await collect(log.stream({ values: false }))
      const err = await failureOf(() => collect(log.stream({ gte: seqs[0] + 1 })))
      if (seqs.some((seq) => !found.includes(seq))) t.equal(err?.code, 'ERR_LOG_SEQ_RETAINED', `folder sync ${at}, for good: ${forGood}, ${when}`)
      for (const index of [0, 2, 4]) if (!found.includes(seqs[index])) t.fail(`folder sync ${at}, ${when}: ${seqs[index]} is lost`)
    }
    await check(log, 'at once')
    isArmed = false
    await failureOf(() => log.close())
    const again = openLog()
    await check(again, 'opened again')
    await again.close()
  }
})
