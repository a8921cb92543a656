'use strict'
// Readers, while segments begin and while the log is closed: a file stays open until its last reader lets go of it.

const { performance } = require('node:perf_hooks')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const { jsonCodec } = require('@millrace/json-codec')
const { SimulatedDisk, collect, createRandom, failureOf, newPath, slowStorage, testLog, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'

/** By folder: the suite opens a log again. */
const disks = new Map()
testLog(tape, (path, options) => {
  if (!disks.has(path)) disks.set(path, slowStorage(new SimulatedDisk().storage, createRandom(seed)))
  return SegmentedLog(path, { segmentSize: 60_000, openSegments: 1, cache: 0, storage: disks.get(path), ...options })
}, { name: `segmented, on a slow disk (seed ${seed})`, seed })

/** A storage whose reads of files wait while `held` is set; `waiting` are the ones that do. */
function holdReads (inner) {
  const held = { isHeld: null, waiting: [], storage: null }
  const open = (path, options, cb) => inner.open(path, options, (err, handle) => cb(err, handle && {
    ...handle,
    read: (...args) => {
      const run = () => handle.read(...args)
      if (held.isHeld?.(path)) held.waiting.push(run)
      else run()
    },
    readSync: (...args) => {
      // A log reads through callbacks once a synchronous call was slow.
      if (held.isHeld?.(path)) for (const began = performance.now(); performance.now() - began < 1.1;);
      return handle.readSync(...args)
    }
  }))
  held.storage = { ...inner, open }
  held.release = () => {
    held.isHeld = null
    for (const run of held.waiting.splice(0)) run()
  }
  return held
}

const READS = {
  scan: async (log, { seqs }) => {
    let n = 0
    await log.scan({}, ({ count }) => { n += count })
    return n === seqs.length
  },
  stream: async (log, { seqs }) => (await collect(log.stream())).length === seqs.length,
  reverse: async (log, { seqs }) => (await collect(log.stream({ reverse: true }))).length === seqs.length,
  live: async (log, { seqs }) => (await collect(log.stream({ live: true, limit: seqs.length }))).length === seqs.length,
  readable: async (log, { seqs }) => (await collect(log.toReadable())).length === seqs.length,
  get: async (log, { seqs }) => (await log.get(seqs[3])).length === SIZE,
  getMany: async (log, { seqs }) => (await log.getMany(seqs)).every(({ length }) => length === SIZE),
  count: async (log, { seqs }) => await log.count() === seqs.length,
  first: async (log, { seqs }) => (await log.first({ gt: seqs[2] })).seq === seqs[3],
  last: async (log, { seqs }) => (await log.last({ lt: seqs[5] })).seq === seqs[4]
}
const SIZE = 200_000

async function createHeld (options) {
  const held = holdReads(new SimulatedDisk().storage)
  const log = SegmentedLog(FOLDER, { segmentSize: 2 ** 24, cache: 0, storage: held.storage, ...options })
  const seqs = []
  for (let n = 0; n < 8; n++) seqs.push(await log.append(Buffer.alloc(SIZE, n)))
  await log.sync()
  return { held, log, seqs }
}

tape('readers: a segment that begins breaks no read of the one before, nor waits for it (roll-breaks-reads)', async (t) => {
  for (const [name, read] of Object.entries(READS)) {
    const { held, log, seqs } = await createHeld()
    const [{ path }] = await log.segments()
    held.isHeld = (file) => file === path
    const reading = read(log, { seqs }).catch((err) => err.code ?? err.stack)
    await until(() => held.waiting.length > 0)
    await log.roll()
    await log.append(Buffer.alloc(0))
    // What the log closes now and then must not be what somebody reads.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    seqs.push(log.since.value)
    held.release()
    const isWhole = await reading
    seqs.pop()
    t.ok(isWhole === true || await read(log, { seqs: [...seqs, log.since.value] }).catch(() => false), `${name}: ${isWhole}`)
    await log.close()
  }
})

tape('readers: a process that follows reads on when its writer begins segments (follower-reads-fail-at-roll)', async (t) => {
  const random = createRandom(seed)
  const { storage } = new SimulatedDisk()
  const writer = SegmentedLog(FOLDER, { codec: jsonCodec, segmentSize: 100_000, storage })
  await writer.append({ n: 0 })
  const follower = SegmentedLog(FOLDER, { codec: jsonCodec, flags: 'r', cache: 0, openSegments: 1, storage: slowStorage(storage, random) })
  await follower.ready()
  const count = 400
  const tail = collect(follower.stream({ live: true, seqs: false, limit: count }))
  const reading = { hasEnded: false }
  const scanning = (async () => {
    while (!reading.hasEnded) await collect(follower.stream({ gt: follower.since.value - 200_000 }))
  })()
  const pad = 'x'.repeat(5000)
  for (let n = 1; n < count; n++) {
    await writer.append({ n, pad })
    if (n % 10 === 0) await new Promise(setImmediate)
  }
  t.deepEqual((await tail).map(({ n }) => n), Array.from({ length: count }, (_, n) => n), `seed ${seed}`)
  reading.hasEnded = true
  t.equal((await failureOf(() => scanning))?.stack, undefined)
  await follower.close()
  await writer.close()
})

tape('close: a read that is under way ends, whole or with ERR_LOG_CLOSED, and close waits for its files', async (t) => {
  for (const [name, read] of Object.entries(READS)) {
    for (const isRolled of [false, true]) {
      const { held, log, seqs } = await createHeld()
      if (isRolled) await log.roll()
      held.isHeld = () => true
      const reading = read(log, { seqs }).catch((err) => err.code ?? err.stack)
      await until(() => held.waiting.length > 0)
      let isClosed = false
      const closing = log.close().then(() => { isClosed = true })
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      t.notOk(isClosed, `${name}: close waits`)
      held.release()
      await closing
      t.ok([true, 'ERR_LOG_CLOSED'].includes(await reading), `${name}: ${await reading}`)
    }
  }
})

/** Reads half of a log item by item, closes it, and goes on. */
const HALVES = {
  pull: (log, options, close) => new Promise((resolve) => {
    const read = log.stream(options)
    let count = 0
    const next = () => read(null, (end) => {
      if (end) return resolve(end)
      if (++count === 50) close().then(next)
      else next()
    })
    next()
  }),
  iterator: async (log, options, close) => {
    let count = 0
    for await (const item of log.stream(options)) if (item && ++count === 50) await close()
  },
  readable: async (log, options, close) => {
    let count = 0
    for await (const item of log.toReadable({ ...options, highWaterMark: 1 })) if (item && ++count === 50) await close()
  }
}

tape('close: streams that are read on afterwards fail with ERR_LOG_CLOSED (close-throws, close-typeerror)', async (t) => {
  for (const [name, read] of Object.entries(HALVES)) {
    for (const options of [{}, { reverse: true }, { live: true }, { reverse: true, limit: 90 }]) {
      const log = SegmentedLog(FOLDER, { segmentSize: 33_000, storage: new SimulatedDisk().storage })
      for (let n = 0; n < 100; n++) await log.append(Buffer.alloc(1000, n))
      const end = await read(log, options, () => log.close()).catch((err) => err)
      t.equal(end?.code, 'ERR_LOG_CLOSED', `${name} ${JSON.stringify(options)} ${end?.message}`)
    }
  }
})

tape('close: every call that comes later fails with ERR_LOG_CLOSED', async (t) => {
  const log = SegmentedLog(FOLDER, { storage: new SimulatedDisk().storage })
  const seq = await log.append(Buffer.from('a'))
  await log.roll()
  await log.close()
  const calls = {
    get: () => log.get(seq),
    getMany: () => log.getMany([seq]),
    first: () => log.first(),
    last: () => log.last(),
    count: () => log.count(),
    scan: () => log.scan({}, () => {}),
    stream: () => collect(log.stream()),
    live: () => collect(log.stream({ live: true })),
    readable: () => collect(log.toReadable()),
    append: () => log.append(Buffer.from('a')),
    appendSync: async () => log.appendSync(Buffer.from('a')),
    flushSync: async () => log.flushSync(),
    del: () => log.del(seq),
    sync: () => log.sync(),
    roll: () => log.roll(),
    stats: () => log.stats(),
    segments: () => log.segments(),
    drained: () => log.drained(),
    dropBefore: () => log.dropBefore(seq),
    hold: () => log.hold('a', seq)
  }
  for (const [name, call] of Object.entries(calls)) t.equal((await failureOf(call))?.code, 'ERR_LOG_CLOSED', name)
  t.equal(log.pendingSize, 0)
  t.equal(log.needsDrain, false)
})

tape('close: since and durable follow what it still acknowledges (since-closing)', async (t) => {
  for (const fsync of ['always', 'interval', 'never']) {
    for (const count of [1, 3, 20]) {
      const log = SegmentedLog(FOLDER, { fsync, segmentSize: 65_536, storage: new SimulatedDisk().storage })
      for (let n = 0; n < 3; n++) await log.append(Buffer.alloc(20_000))
      let last = -1
      const appends = Array.from({ length: count }, async () => {
        const seq = await log.append(Buffer.alloc(20_000))
        t.ok(log.since.value >= seq, 'since has it when it calls back')
        if (fsync === 'always') t.ok(log.durable.value >= seq, 'durable too')
        last = Math.max(last, seq)
      })
      await log.close()
      await Promise.all(appends)
      t.equal(log.since.value, last)
      t.equal(log.durable.value, last, 'close makes all durable')
    }
  }
})

tape('readers: a stream that may miss records goes on behind a segment that is dropped while it reads', async (t) => {
  for (const onRetained of ['skip', 'error']) {
    const storage = new SimulatedDisk().storage
    const log = SegmentedLog(FOLDER, { segmentSize: 2 ** 24, openSegments: 1, cache: 0, storage })
    for (let n = 0; n < 32; n++) {
      await log.append(Buffer.alloc(SIZE, n))
      if (n % 8 === 7) await log.roll()
    }
    await log.append(Buffer.alloc(SIZE, 32))
    const stream = log.stream({ gt: -1, seqs: false, onRetained })[Symbol.asyncIterator]()
    const first = await stream.next()
    const segments = await log.segments()
    const [, , { base }] = segments
    await log.dropBefore(base)
    const rest = []
    const err = await failureOf(async () => {
      for (let item = await stream.next(); !item.done; item = await stream.next()) rest.push(item.value[0])
    })
    t.equal(first.value[0], 0)
    if (onRetained === 'error') t.equal(err?.code, 'ERR_LOG_SEQ_RETAINED')
    else {
      t.equal(err?.stack, undefined)
      t.deepEqual(rest.filter((n) => n >= 16), Array.from({ length: 17 }, (_, index) => 16 + index))
    }
    await log.close()
  }
})

tape('readers: a text segment that was compressed before a reader has looked is read all the same', async (t) => {
  const disk = new SimulatedDisk()
  const log = SegmentedLog(FOLDER, { codec: jsonCodec, framing: 'lines', compress: 'gzip', storage: disk.storage })
  await log.append(Array.from({ length: 200 }, (_, n) => ({ n })))
  // It looks only when it is asked to.
  const storage = { ...disk.storage, watch: (path, onChange, cb) => cb(null, { isTrusted: true, close () {} }) }
  const reader = SegmentedLog(FOLDER, { codec: jsonCodec, flags: 'r', storage })
  await reader.ready()
  await log.append({ n: 200 })
  await log.roll()
  await log.append({ n: 201 })
  await until(async () => (await log.segments())[0].compressed === 'gzip')
  await reader.refresh()
  t.equal(await reader.count(), 202)
  await reader.close()
  await log.close()
})

for (const framing of ['checked', 'lines']) {
  for (const reverse of [false, true]) {
    tape(`readers: a stream reaches a segment that was written on after a failed sync, and sealed meanwhile: ${framing}, reverse ${reverse}`, async (t) => {
      let isFailing = false
      const disk = new SimulatedDisk({ decide: ({ name }) => isFailing && name === 'sync' ? { code: 'EIO' } : {} })
      const openLog = () => SegmentedLog(FOLDER, { storage: disk.storage, framing, cache: 0, segmentSize: 700 })
      let n = 0
      const append = async (log) => {
        await log.ready()
        const appended = log.append(Array.from({ length: 3 }, () => Buffer.from(String(n++).padEnd(60, '.'))), { seqs: true })
        try {
          log.flushSync({ sync: false })
        } catch {}
        return await appended
      }
      const before = openLog()
      const expected = []
      for (let i = 0; i < 3; i++) {
        expected.push(...await append(before))
        await before.roll()
      }
      for (let i = 0; i < 2; i++) expected.push(...await append(before))
      isFailing = true
      t.equal((await failureOf(() => before.sync()))?.code, 'ERR_LOG_POISONED')
      await failureOf(() => before.close())
      isFailing = false
      const log = openLog()
      await log.ready()
      const stream = log.stream({ lte: log.since.value, values: false, reverse })[Symbol.asyncIterator]()
      const found = [(await stream.next()).value]
      for (let i = 0; i < 2; i++) await append(log)
      for (let item; !(item = await stream.next()).done;) found.push(item.value)
      t.deepEqual(found, reverse ? expected.reverse() : expected)
      await log.close()
    })
  }
}

for (const framing of ['checked', 'lines']) {
  tape(`readers: a live stream misses nothing of a segment that is sealed before it comes to it: ${framing}`, async (t) => {
    const log = SegmentedLog(FOLDER, { storage: new SimulatedDisk().storage, framing })
    await log.ready()
    const append = (count) => log.append(Array.from({ length: count }, () => Buffer.from('x'.repeat(60))), { seqs: true })
    const [gt] = await append(1)
    await log.roll()
    const expected = await append(3)
    const { openRange } = log._file
    let callCount = 0
    log._file.openRange = (file, range, cb) => openRange(file, range, (err, reader) => {
      const next = reader.next.bind(reader)
      // The second call enters the second segment, with the end that the log had at the first one.
      reader.next = (logEnd, cb) => ++callCount === 2 ? seal().then(() => next(logEnd, cb)) : next(logEnd, cb)
      cb(err, reader)
    })
    const seal = async () => {
      expected.push(...await append(5))
      await log.roll()
      expected.push(...await append(2))
    }
    const found = []
    for await (const seq of log.stream({ gt, values: false, live: true })) {
      found.push(seq)
      if (seq === expected.at(-1)) break
    }
    t.deepEqual(found, expected)
    await log.close()
  })
}

tape('reader: refresh goes on if its newest segment is dropped while it is looked at', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec, maxCount: 1 })
  await log.append(0)
  let isArmed = false
  const listFolder = (path, cb) => fileStorage.listFolder(path, async (err, names) => {
    const isNow = isArmed
    isArmed = false
    if (isNow) {
      await log.roll()
      await log.append(1)
      await log.dropBefore(0)
    }
    cb(err, names)
  })
  const reader = SegmentedLog(folder, { codec: jsonCodec, flags: 'r', storage: { ...fileStorage, listFolder } })
  await reader.ready()
  isArmed = true
  await reader.refresh()
  t.deepEqual(await reader.last(), { seq: log.since.value, value: 1 })
  await reader.close()
  await log.close()
})
