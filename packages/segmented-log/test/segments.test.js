'use strict'
// Segments: when they begin, what seqs they give, and how many are open.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath, temporaryFolder, until } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const names = (folder) => fs.readdirSync(folder).filter((name) => name.endsWith('.log')).sort()

/** What a live stream delivers until the log is closed. It fails if it has more to read then. */
async function follow (log) {
  const items = []
  try {
    for await (const item of log.stream({ live: true, gt: -1 })) items.push(item)
  } catch (err) {
    if (err.code !== 'ERR_LOG_CLOSED') throw err
  }
  return items
}

tape('segments: one begins before an append that would make the newest too large', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { segmentSize: 100_000 })
  const record = Buffer.alloc(20_000, 'x')
  const seqs = []
  for (let i = 0; i < 12; i++) seqs.push(await log.append(record))
  const segments = await log.segments()
  t.equal(segments.length, 4)
  t.deepEqual(segments.map(({ path: file }) => path.basename(file)), names(folder))
  t.equal((await log.stats()).segmentCount, 4)
  t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
  for (const { base } of segments.slice(1)) t.ok(seqs.every((seq) => seq < base || seq > base + 32_768), 'bases lie between')
  await log.close()
  for (const name of names(folder)) t.ok(fs.statSync(path.join(folder, name)).size <= 101_000, 'none is larger')
  t.deepEqual(fs.readdirSync(folder).sort(), [...names(folder), 'writer'], 'nothing else is left')
})

tape('segments: a seq is the base of the name, plus the seq in the file', async (t) => {
  const folder = newPath('logs')
  const log = SegmentedLog(folder, { codec: jsonCodec })
  const seqs = [await log.append('a')]
  await log.roll()
  seqs.push(await log.append('b'))
  await log.roll()
  await log.roll()
  t.equal(names(folder).length, 3, 'a segment without records is not sealed')
  await log.close()
  const [, second] = names(folder)
  const file = OffsetLog(path.join(folder, second), { codec: jsonCodec, flags: 'r' })
  t.equal((await file.first()).seq + Number(second.slice(0, 16)), seqs[1])
  await file.close()
  const again = SegmentedLog(folder, { codec: jsonCodec })
  await again.ready()
  t.equal(again.since.value, seqs[1], 'since is found in front of a segment without records')
  t.equal(again.durable.value, seqs[1])
  t.equal(await again.append([]), seqs[1])
  t.deepEqual(await collect(again.stream()), [{ seq: seqs[0], value: 'a' }, { seq: seqs[1], value: 'b' }])
  await again.close()
})

tape('segments: a log of one file goes on as the first segment', async (t) => {
  const folder = newPath('logs')
  fs.mkdirSync(folder)
  const one = path.join(folder, '0000000000000000-20260101T000000000Z.log')
  const before = OffsetLog(one, { codec: jsonCodec })
  const seq = await before.append('a')
  await before.close()
  t.equal((await failureOf(() => SegmentedLog(one).ready())).code, 'ENOTDIR')
  const log = SegmentedLog(folder, { codec: jsonCodec, segmentDay: 'UTC' })
  const next = await log.append('b')
  t.deepEqual(await collect(log.stream()), [{ seq, value: 'a' }, { seq: next, value: 'b' }])
  t.equal((await log.segments()).length, 2)
  await log.close()
})

tape('segments: few files are open, whatever is read and left', async (t) => {
  if (process.platform !== 'linux') return t.comment('only Linux lists the open files')
  const folder = newPath('logs')
  const options = { codec: jsonCodec, segmentSize: 1, openSegments: 3 }
  const log = SegmentedLog(folder, options)
  const seqs = []
  for (let i = 0; i < 30; i++) seqs.push(await log.append(i))
  const countOpen = () => fs.readdirSync('/proc/self/fd').filter((fd) => {
    try {
      const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
      return path.dirname(file) === fs.realpathSync(folder) && file.endsWith('.log')
    } catch {
      return false
    }
  }).length
  const left = seqs.map((seq) => log.stream({ gte: seq, seqs: false })[Symbol.asyncIterator]())
  for (const [i, iterator] of left.entries()) t.equal((await iterator.next()).value, i)
  t.deepEqual(await log.getMany(seqs), seqs.map((_, i) => i))
  await until(() => countOpen() <= 3 + 1)
  t.equal((await left[0].next()).value, 1, 'a stream whose segment was closed goes on')
  t.equal((await left[28].next()).value, 29)
  await log.close()
  t.equal(countOpen(), 0)
  const reopened = SegmentedLog(folder, options)
  await reopened.ready()
  t.equal(countOpen(), 1)
  await reopened.close()
})

tape(`segments: whatever is done, the log is what an array would be (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(20); round++) {
    const { storage } = new SimulatedDisk()
    const options = { codec: jsonCodec, storage, segmentSize: 33_000 + random(6000), openSegments: 1 + random(3) }
    let log = SegmentedLog(FOLDER, options)
    let model = []
    let next = 0
    let sinceMax = -1
    const live = follow(log)
    const all = []
    for (let step = 0; step < 30; step++) {
      const kind = random(12)
      if (kind < 6) {
        const values = Array.from({ length: 1 + random(3) }, () => ({ n: next++, text: 'x'.repeat(random(1500)) }))
        const appended = values.map((value) => log.append(value))
        for (const [i, seq] of (await Promise.all(appended)).entries()) model.push({ seq, value: values[i] })
        all.push(...model.slice(-values.length))
      } else if (kind < 8) {
        await log.roll()
      } else if (kind < 10 && model.length > 2) {
        const gone = model.filter((_, i) => i < model.length - 1 && random(5) === 0)
        await log.del(gone.map(({ seq }) => seq))
        model = model.filter((entry) => !gone.includes(entry))
      } else if (kind === 10 && step > 20) {
        await log.close()
        log = SegmentedLog(FOLDER, options)
      }
      await check(t, log, model, random)
      if (log.since.value < sinceMax) t.fail(`since fell from ${sinceMax} to ${log.since.value}`)
      sinceMax = log.since.value
    }
    await log.close()
    const seen = await live
    const isKept = new Set(model.map(({ seq }) => seq))
    const missed = seen.length < all.length ? [] : model.filter(({ seq }) => !seen.some((entry) => entry.seq === seq))
    t.deepEqual(missed, [], `${seen.length} records live, ${isKept.size} kept`)
  }
})

async function check (t, log, model, random) {
  const bound = () => model.length === 0 || random(4) === 0 ? random(1e5) : model[random(model.length)].seq
  const options = { reverse: random(2) === 0 }
  for (const name of ['gt', 'gte', 'lt', 'lte']) if (random(3) === 0) options[name] = bound()
  if (random(3) === 0) options.limit = random(10)
  const { gt = -1, gte = -1, lt = Infinity, lte = Infinity, limit = Infinity } = options
  const inRange = model.filter(({ seq }) => seq > gt && seq >= gte && seq < lt && seq <= lte)
  const expected = (options.reverse ? inRange.reverse() : inRange).slice(0, limit)
  const found = await collect(log.stream(options))
  if (JSON.stringify(found) !== JSON.stringify(expected)) t.fail(`${JSON.stringify(options)}: ${JSON.stringify({ found, expected })}`.slice(0, 500))
  const some = model.filter(() => random(4) === 0)
  const values = await log.getMany(some.map(({ seq }) => seq))
  if (JSON.stringify(values) !== JSON.stringify(some.map(({ value }) => value))) t.fail('getMany differs')
}

tape('segments: seqs have 53 bits, and end with a code', async (t) => {
  const disk = new SimulatedDisk()
  const { storage } = disk
  const first = SegmentedLog(FOLDER, { storage, codec: jsonCodec })
  await first.append('a')
  await first.close()
  const [file] = disk.list()
  const moved = new SimulatedDisk()
  const base = Number.MAX_SAFE_INTEGER - 2 ** 48 - 40_000
  moved.put(path.join(FOLDER, `${base}-20260101T000000000Z.log`), disk.read(file))
  const log = SegmentedLog(FOLDER, { storage: moved.storage, codec: jsonCodec })
  const seq = await log.append('b')
  t.ok(Number.isSafeInteger(seq) && seq > base)
  t.deepEqual((await collect(log.stream({ seqs: false }))), ['a', 'b'])
  t.equal(await log.get(seq), 'b')
  await log.append('x'.repeat(10_000))
  const warned = new Promise((resolve) => process.once('warning', resolve))
  t.equal((await failureOf(() => log.roll()))?.code, 'ERR_LOG_FULL')
  t.ok((await warned).message.includes('used up'))
  t.ok(await log.append('c') > seq, 'the newest segment still takes appends')
  await log.close()
})

tape('segments: a full disk stops nothing that still fits', async (t) => {
  const disk = new SimulatedDisk({ capacity: 90_000 })
  const log = SegmentedLog(FOLDER, { storage: disk.storage, segmentSize: 40_000 })
  const warned = new Promise((resolve) => process.once('warning', resolve))
  const seqs = []
  for (let i = 0; i < 4; i++) seqs.push(await log.append(Buffer.alloc(5000)))
  t.equal((await warned).name, 'SegmentedLogWarning')
  t.equal(await log.count(), 4)
  t.deepEqual(seqs, [...seqs].sort((a, b) => a - b))
  disk.capacity = Infinity
  await log.roll()
  await log.append(Buffer.alloc(5000))
  await log.close()
  t.deepEqual(disk.list().filter((name) => !name.endsWith('Z.log')), [])
})

tape('segments: behind a damaged one another begins, and seqs go on above it', async (t) => {
  const disk = new SimulatedDisk()
  const { storage } = disk
  const options = { storage, codec: jsonCodec }
  const log = SegmentedLog(FOLDER, options)
  const seqs = []
  for (let i = 0; i < 3; i++) seqs.push(await log.append({ i }))
  await log.close()
  disk.damage(disk.list()[0], (medium) => { medium[medium.length - 3] ^= 1 })
  const again = SegmentedLog(FOLDER, options)
  await again.ready()
  t.equal(again.recovery.damage.length, 1)
  const next = await again.append({ i: 3 })
  t.ok(next > seqs[2])
  t.equal((await failureOf(() => collect(again.stream()))).code, 'ERR_LOG_CORRUPT')
  const kept = await collect(again.stream({ onCorrupt: 'skip', seqs: false }))
  t.deepEqual(kept.at(-1), { i: 3 })
  t.equal((await failureOf(() => collect(again.stream({ gt: seqs[2] + 5000 })))).code, 'ERR_LOG_SEQ_LOST')
  await again.close()
})

tape('segments: a folder of 105 opens, goes on, and has nothing but its segments and its lock', async (t) => {
  const folder = newPath('logs')
  const options = { codec: jsonCodec, segmentSize: 1, fsync: 'never' }
  const log = SegmentedLog(folder, options)
  for (let i = 0; i < 105; i++) await log.append(i)
  await log.close()
  const again = SegmentedLog(folder, options)
  t.deepEqual((await again.last()).value, 104)
  await again.append(105)
  t.equal(await again.count(), 106)
  await again.close()
  t.deepEqual(fs.readdirSync(folder).filter((name) => !name.endsWith('Z.log')), ['writer'])
})

tape('segments: exit-listeners: a roll starts no process, and however many logs roll, one listener waits for the exit', async (t) => {
  const folder = temporaryFolder()
  const logs = Array.from({ length: 25 }, (_, i) => SegmentedLog(path.join(folder, String(i))))
  for (const log of logs) await log.append(Buffer.from('x'))
  const { kind } = (await logs[0].stats()).lock
  const before = process.listenerCount('exit')
  const warnings = []
  const onWarning = ({ name }) => warnings.push(name)
  process.on('warning', onWarning)
  // Without a path, no program could be started.
  const { PATH } = process.env
  process.env.PATH = '/nonexistent'
  await Promise.all(logs.map((log) => log.roll()))
  process.env.PATH = PATH
  t.ok(process.listenerCount('exit') <= before + 1)
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  t.deepEqual(warnings, [])
  for (const log of logs) t.equal((await log.segments()).length, 2)
  t.deepEqual(await Promise.all(logs.map(async (log) => (await log.stats()).lock.kind)), logs.map(() => kind), 'the lock is as it was')
  await Promise.all(logs.map((log) => log.close()))
})

tape('segments: options that make no sense are misuse', async (t) => {
  const wrong = [{ segmentSize: 0 }, { segmentSize: 'a' }, { segmentAge: -1 }, { segmentDay: 'Mars/Olympus' }, { segmentDay: 1 },
    { maxSize: 1000 }, { maxSize: 2 ** 20, segmentSize: 2 ** 19 }, { maxCount: 0 }, { framing: 'offset32' }, { lock: false },
    { flags: 'w' }, { segmentsize: 1 }, null]
  for (const options of wrong) {
    t.throws(() => SegmentedLog('logs', options), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(options))
  }
  t.throws(() => SegmentedLog(), { code: 'ERR_INVALID_ARGUMENT' })
})

tape('close: readers that want to go on fail, and open no file any more, even if closing fails', async (t) => {
  for (const isFailing of [false, true]) {
    const disk = new SimulatedDisk()
    const log = SegmentedLog('/logs', { codec: jsonCodec, storage: disk.storage, segmentSize: 40_000, openSegments: 1, fsync: 'never' })
    await log.ready()
    for (let n = 0; n < 30; n++) await log.append({ n, text: 'x'.repeat(5000) })
    const readers = await Promise.all(Array.from({ length: 20 }, async (_, index) => {
      const reader = log.stream(index % 2 ? { reverse: true } : {})[Symbol.asyncIterator]()
      for (let n = 0; n < index; n++) await reader.next()
      return reader
    }))
    let isClosed = false
    const opened = []
    disk.decide = ({ name, path }) => {
      if (isClosed && name === 'open') opened.push(path)
      if (isFailing && name === 'sync') return { code: 'EIO', losesPages: true }
    }
    const ends = readers.map(async (reader) => {
      try {
        while (!(await reader.next()).done);
        return 'end'
      } catch (err) {
        return err.code
      }
    })
    await log.close().catch(({ code }) => t.equal(isFailing && code, 'ERR_LOG_POISONED'))
    isClosed = true
    const codes = new Set(await Promise.all(ends))
    t.deepEqual([...codes].filter((code) => code !== 'end'), ['ERR_LOG_CLOSED'], [...codes].join())
    await new Promise((resolve) => setTimeout(resolve, 20))
    t.deepEqual(opened, [])
  }
})

tape('segmented: openAgain asks no more what was asked of the first open', async (t) => {
  const controller = new AbortController()
  const log = SegmentedLog(newPath('logs'), { codec: jsonCodec, signal: controller.signal, errorIfExists: true })
  await log.append({ n: 1 })
  controller.abort()
  await log.close()
  const again = log.openAgain()
  await again.append({ n: 2 })
  t.equal(await again.count(), 2)
  await again.close()
})
