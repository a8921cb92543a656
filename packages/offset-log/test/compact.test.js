'use strict'
// Compaction: what is given back, and that everything else stays what it was.

const fs = require('node:fs')
const path = require('node:path')
const { setImmediate: nextTurn } = require('node:timers/promises')
const tape = require('tape')
const { toPromise } = require('@millrace/flow')
const { jsonCodec } = require('@millrace/json-codec')
const { verify } = require('@millrace/repair')
const { createIndex } = require('@millrace/index')
const {
  FailingDisk, SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, isLongRun, newPath, temporaryFolder,
  until
} = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { openRange, parseRange } = require('../lib/range')

/**
 * What of the records is left, and that the log says the same, in every way to read it.
 * @param {import('tape').Test} t
 * @param {any} log
 * @param {Map<number, Buffer>} records
 * @param {number[]} deleted
 * @param {string} name
 */
async function compare (t, log, records, deleted, name) {
  const expected = [...records].map(([seq, value]) => ({ seq, value }))
  const isSame = (items, other) => items.length === other.length &&
    items.every(({ seq, value }, i) => seq === other[i].seq && value.equals(other[i].value))
  if (!isSame(await collect(log.stream()), expected)) t.fail(`${name}: forward`)
  if (!isSame(await collect(log.stream({ reverse: true })), [...expected].reverse())) t.fail(`${name}: backward`)
  for (const { seq, value } of expected) if (!value.equals(await log.get(seq))) t.fail(`${name}: get ${seq}`)
  for (const seq of deleted) {
    const err = await failureOf(() => log.get(seq))
    if (err?.code !== 'flumelog:deleted') t.fail(`${name}: deleted ${seq}: ${err}`)
  }
  for (let i = 0; i < expected.length; i += 1 + Math.floor(expected.length / 7)) {
    const { seq } = expected[i]
    if (!isSame(await collect(log.stream({ gte: seq, limit: 5 })), expected.slice(i, i + 5))) t.fail(`${name}: from ${seq}`)
    const before = expected.slice(Math.max(0, i - 5), i).reverse()
    if (!isSame(await collect(log.stream({ lt: seq, limit: 5, reverse: true })), before)) t.fail(`${name}: back from ${seq}`)
    const between = expected.slice(i + 1, i + 4)
    if (!isSame(await collect(log.stream({ gt: seq + 0.5, limit: 3 })), between)) t.fail(`${name}: after ${seq}`)
  }
}

/** @param {(limit: number) => number} random */
function randomSize (random) {
  const kind = random(40)
  if (kind === 0) return random(60_000)
  if (kind < 4) return 16_000 + random(800)
  return kind < 20 ? random(30) : random(900)
}

tape('compact: nine records in ten are deleted: at least four fifths of the file come back', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 200; i++) {
    await log.append(Array.from({ length: 50 }, (_, j) => Buffer.alloc(690, 1 + (i + j) % 255)))
  }
  for await (const seq of log.stream({ values: false })) seqs.push(seq)
  const values = await collect(log.stream())
  await log.del(seqs.filter((_, i) => i % 10 !== 0))
  await log.sync()
  const before = fs.statSync(file).size
  const reclaimableSize = await log.measureReclaimable()
  const { since } = log
  const sinceBefore = since.value
  const result = await log.compact()
  const after = fs.statSync(file).size
  t.ok(after < before / 5, `${before} bytes became ${after}`)
  t.deepEqual(result, { sizeBefore: before, size: after })
  t.equal(before - after, reclaimableSize, 'as measured')
  t.equal(since.value, sinceBefore)
  t.equal(await log.measureReclaimable(), 0, 'nothing is left to give back')
  await compare(t, log, new Map(values.filter((_, i) => i % 10 === 0).map(({ seq, value }) => [seq, value])),
    seqs.filter((_, i) => i % 10 === 1), 'afterwards')
  const next = await log.append(Buffer.from('next'))
  t.ok(next > sinceBefore)
  await log.close()
  const again = OffsetLog(file)
  await again.ready()
  t.equal(again.recovery, null)
  t.equal(again.since.value, next)
  t.equal((await collect(again.stream())).length, 1001)
  await again.close()
})

tape('compact: random logs, compacted again and again, are what they were', async (t) => {
  const seed = Date.now() % 2 ** 31
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  for (let round = 0; round < inQuickRuns(25, 8); round++) {
    const disk = new SimulatedDisk()
    const name = `seed ${seed}, round ${round}`
    let log = OffsetLog('/log', { storage: disk.storage, fsync: ['never', 'always'][random(2)], verify: random(2) === 0 })
    await log.ready()
    const records = new Map()
    const deleted = []
    for (let step = 0; step < 12; step++) {
      const action = random(10)
      if (action < 4) {
        const share = [1, 2, 5, 20][random(4)]
        const chosen = [...records.keys()].filter(() => random(share) === 0)
        if (random(4) === 0) chosen.push(...[...records.keys()].slice(-3))
        await log.del([...new Set(chosen)])
        for (const seq of chosen) if (records.delete(seq)) deleted.push(seq)
      } else if (action < 8) {
        for (let i = random(20); i >= 0; i--) {
          const count = 1 + random(random(3) === 0 ? 80 : 2)
          const values = Array.from({ length: count }, () => Buffer.alloc(randomSize(random), random(256)))
          const before = log.since.value ?? -1
          await log.append(values)
          const seqs = await collect(log.stream({ gt: before, values: false }))
          seqs.slice(-values.length).forEach((seq, i) => records.set(seq, values[i]))
        }
      } else if (action === 8) {
        await log.close()
        log = OffsetLog('/log', { storage: disk.storage })
        await log.ready()
        if (log.recovery) t.fail(`${name}: ${JSON.stringify(log.recovery)}`)
      }
      const { logEnd: end } = log._file
      const reclaimableSize = await log.measureReclaimable()
      const { sizeBefore, size } = await log.compact()
      if (log._file.logEnd !== end) t.fail(`${name}: the end moved`)
      if (sizeBefore - size !== reclaimableSize) t.fail(`${name}: ${reclaimableSize} bytes said, ${sizeBefore - size} given back`)
      await compare(t, log, records, deleted.slice(-30), `${name}, step ${step}`)
    }
    await log.close()
  }
  t.pass('all are')
})

tape('compact: appends, reads and live streams go on meanwhile, and deletions come after it', async (t) => {
  for (const fsync of ['interval', 'always']) {
    const file = newPath('log')
    const log = OffsetLog(file, { fsync })
    const seqs = []
    const values = new Map()
    const append = async (i) => {
      const value = Buffer.alloc(500 + i % 700, 1 + i % 255)
      const seq = await log.append(value)
      seqs.push(seq)
      values.set(seq, value)
    }
    await log.append(Array.from({ length: 8000 }, (_, i) => Buffer.alloc(690, 1 + i % 255)))
    for await (const { seq, value } of log.stream()) {
      seqs.push(seq)
      values.set(seq, value)
    }
    const gone = new Set(seqs.filter((_, i) => i % 3 !== 0))
    await log.del([...gone])
    const kept = seqs.filter((seq) => !gone.has(seq))

    const live = []
    const reading = (async () => {
      for await (const { seq, value } of log.stream({ live: true })) {
        if (!value.equals(values.get(seq) ?? value)) t.fail(`live: ${seq}`)
        live.push(seq)
        if (live.length % 300 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      }
    })()
    const sources = [{}, { reverse: true }, { gt: kept[100] }, { lt: kept[2000], reverse: true }].map((options) => {
      const source = log.stream(options)[Symbol.asyncIterator]()
      return { options, source, seen: [] }
    })
    for (const { source, seen } of sources) for (let i = 0; i < 50; i++) seen.push((await source.next()).value)
    const scanned = []
    const progress = []
    log.compactionProgress((value) => progress.push(value))
    const compacting = log.compact()
    const late = kept.pop()
    const deleting = log.del(late)
    let isOver = false
    compacting.then(() => { isOver = true })
    const scanning = log.scan({}, ({ seqs, count }) => { scanned.push(...seqs.subarray(0, count)) })
    const goesOn = () => !isOver
    for (let i = 0; goesOn(); i++) {
      await append(i)
      const seq = kept[i * 7 % kept.length]
      if (!(await log.get(seq)).equals(values.get(seq))) t.fail(`get ${seq}`)
      for (const { source, seen } of sources) {
        // A compaction that takes long outlasts the shorter ones.
        const { value, done } = await source.next()
        if (!done) seen.push(value)
      }
    }
    await compacting
    await deleting
    await scanning
    const appended = seqs.slice(8000)
    t.ok(appended.length > 0, `${fsync}: ${appended.length} records were appended meanwhile`)
    t.equal((await failureOf(() => log.get(late))).code, 'flumelog:deleted')
    for (const { options, source, seen } of sources) {
      for (let item; !(item = await source.next()).done;) seen.push(item.value)
      const { gt = -1, lt = Infinity, reverse } = options
      const expected = [...kept, late].filter((seq) => seq > gt && seq < lt)
      if (reverse) expected.reverse()
      const got = seen.map(({ seq }) => seq).filter((seq) => seq <= late)
      if (!got.includes(late)) expected.splice(expected.indexOf(late), expected.includes(late) ? 1 : 0)
      t.deepEqual(got, expected, `a stream with ${JSON.stringify(options)}`)
      if (seen.some(({ seq, value }) => !value.equals(values.get(seq)))) t.fail('another value')
    }
    t.deepEqual(scanned.filter((seq) => seq < late), kept, 'a scan')
    await append(1)
    await until(() => live.at(-1) === seqs.at(-1))
    await log.close()
    await reading
    t.deepEqual(live.filter((seq) => seq !== late), [...kept, ...seqs.slice(8000)], 'a live stream')
    t.ok(progress.length > 2 && progress[progress.length - 1].isDone, 'progress was told')
    t.ok(progress.every(({ doneSize, totalSize }) => doneSize <= totalSize))
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'], 'nothing is left beside it')
    const again = OffsetLog(file)
    t.deepEqual(await collect(again.stream({ values: false })), [...kept, ...seqs.slice(8000)])
    await again.close()
  }
})

tape('compact: a legacy log refuses with a code', async (t) => {
  for (const framing of ['offset32', 'offset48', 'offset53']) {
    const log = OffsetLog(newPath('log'), { framing })
    await log.append(Buffer.from('a'))
    t.equal((await failureOf(() => log.compact())).code, 'ERR_NOT_SUPPORTED')
    t.equal(await log.measureReclaimable(), 0)
    t.equal(log.supports.compact, false)
    await log.close()
  }
})

tape('compact: closing the log ends it, and leaves the log as it was', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 40; i++) {
    seqs.push(await log.append(Array.from({ length: 200 }, (_, j) => Buffer.alloc(690, 1 + (i + j) % 255))))
  }
  await log.del(seqs.slice(0, 20))
  const compacting = failureOf(() => log.compact())
  await log.close()
  t.equal((await compacting)?.code, 'ERR_LOG_CLOSED')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  const again = OffsetLog(file)
  t.equal((await collect(again.stream())).length, 40 * 200 - 20)
  await again.close()
})

tape('compact: damage in the way ends it with a code, and nothing is changed', async (t) => {
  const file = newPath('log')
  let log = OffsetLog(file)
  const seqs = []
  for (let i = 0; i < 100; i++) seqs.push(await log.append(Buffer.alloc(1000, 1)))
  await log.del(seqs.slice(0, 10))
  await log.close()
  const bytes = fs.readFileSync(file)
  bytes[seqs[50] + 100] ^= 1
  fs.writeFileSync(file, bytes)
  for (const verify of [true, false]) {
    log = OffsetLog(file, { verify })
    t.equal((await failureOf(() => log.compact())).code, 'ERR_LOG_CORRUPT', `verify: ${verify}`)
    t.equal(await log.measureReclaimable(), null)
    await log.close()
    t.ok(fs.readFileSync(file).equals(bytes))
  }
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
})

tape('compact: somebody else\'s file in the way is not touched; a leftover is removed', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const beside = `${file}.compacting`
  fs.writeFileSync(beside, 'not ours '.repeat(100))
  let log = OffsetLog(file)
  await log.append(Buffer.from('a'))
  t.equal((await failureOf(() => log.compact())).code, 'EEXIST')
  t.equal(fs.readFileSync(beside, 'utf8'), 'not ours '.repeat(100))
  t.equal((await collect(log.stream())).length, 1, 'the log is as it was')
  await log.close()
  fs.writeFileSync(beside, fs.readFileSync(file).subarray(0, 40_000))
  log = OffsetLog(file)
  await log.ready()
  t.deepEqual(fs.readdirSync(folder).filter((name) => !name.endsWith('.lock')), ['log'])
  await log.close()
})

/** What a power cut may leave of the first bytes of a log. */
const cutHeads = {
  'all of the head is zeros': (bytes) => bytes.fill(0, 0, 32768),
  'the first copy of the header is zeros': (bytes) => bytes.fill(0, 0, 4096),
  'the second copy of the header is zeros': (bytes) => bytes.fill(0, 8192, 12288),
  'both copies of the header are zeros': (bytes) => bytes.fill(0, 0, 4096).fill(0, 8192, 12288),
  'both copies of the header are torn': (bytes) => {
    for (let at = 0; at < 12288; at += 3) bytes[at] = 0
    return bytes
  }
}

for (const [what, cut] of Object.entries(cutHeads)) {
  tape(`compact: what a power cut left of a compaction is removed: ${what}`, async (t) => {
    const folder = temporaryFolder()
    const file = path.join(folder, 'log')
    const beside = `${file}.compacting`
    const names = () => fs.readdirSync(folder).filter((name) => !name.endsWith('.lock'))
    let log = OffsetLog(file)
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(1000, 1))
    // Now the head is as compactions write it.
    await log.compact()
    await log.close()
    const left = cut(fs.readFileSync(file))
    fs.writeFileSync(beside, left)
    log = OffsetLog(file)
    await log.ready()
    t.deepEqual(names(), ['log'], 'at open')
    fs.writeFileSync(beside, left)
    await log.compact()
    t.deepEqual(names(), ['log'], 'by compact')
    t.equal((await collect(log.stream())).length, 20)
    await log.close()
  })
}

tape('compact: what was left of a compaction does not come back with the power', async (t) => {
  const disk = new SimulatedDisk()
  const { storage } = disk
  let log = OffsetLog('/folder/log', { storage })
  const seq = await log.append(Buffer.alloc(1000, 77))
  await log.append(Buffer.alloc(1000, 1))
  await log.close()
  disk.put('/folder/log.compacting', disk.read('/folder/log').fill(0, 0, 32768))
  log = OffsetLog('/folder/log', { storage })
  await log.del(seq)
  await log.sync()
  const crashed = disk.crash(() => 0)
  t.deepEqual(crashed.list(), ['/folder/log'])
  t.notOk(crashed.read('/folder/log').includes(Buffer.alloc(100, 77)))
  await log.close()
})

tape('compact: the head of the new file is on stable storage before anything of the log is', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog('/folder/log', { storage: disk.storage })
  for (let i = 0; i < 100; i++) await log.append(Buffer.alloc(1000, 77))
  const id = disk.read('/folder/log').subarray(16, 32)
  let count = 0
  disk.onChange = () => {
    if (!disk.list().includes('/folder/log.compacting')) return
    const left = disk.crash((n) => n - 1).read('/folder/log.compacting')
    if (!left.includes(Buffer.alloc(100, 77))) return
    count++
    if (!disk.crash(() => 0).list().includes('/folder/log.compacting')) return t.fail('the name is not synced')
    if (!disk.crash(() => 0).read('/folder/log.compacting').subarray(16, 32).equals(id)) t.fail('the head is not synced')
  }
  await log.compact()
  disk.onChange = null
  t.ok(count > 0, `${count} states`)
  await log.close()
})

tape('compact: a failed one whose copy cannot be removed: del and sync do not promise that the bytes are gone', async (t) => {
  for (const fsync of ['always', 'never']) {
    const disk = new SimulatedDisk()
    const log = OffsetLog('/folder/log', { storage: disk.storage, fsync })
    const seq = await log.append(Buffer.alloc(1000, 77))
    await log.append(Buffer.alloc(1000, 1))
    let mayUnlink = false
    disk.decide = ({ name, path }) => {
      if (name === 'unlink' && !mayUnlink) return { code: 'EACCES' }
      if (name === 'rename' && path.includes('compacting')) return { code: 'EIO' }
    }
    t.equal((await failureOf(() => log.compact()))?.code, 'EIO')
    t.ok(disk.list().includes('/folder/log.compacting'))
    const erase = async () => {
      await log.del(seq)
      if (fsync === 'never') await log.sync()
    }
    t.equal((await failureOf(erase))?.code, 'EACCES', fsync)
    mayUnlink = true
    await Promise.all([erase(), log.compact().catch(() => {}), erase()])
    t.deepEqual(disk.crash(() => 0).list(), ['/folder/log'])
    disk.decide = () => {}
    await log.compact()
    await log.close()
  }
})

tape('compact: a log without records, or with none left', async (t) => {
  const file = newPath('log')
  let log = OffsetLog(file)
  await log.compact()
  const seqs = [await log.append(Buffer.alloc(50_000, 1)), await log.append(Buffer.alloc(20, 1))]
  await log.del(seqs)
  await log.compact()
  t.equal((await collect(log.stream())).length, 0)
  t.ok(fs.statSync(file).size < 33_000)
  const next = await log.append(Buffer.from('next'))
  t.ok(next > seqs[1], 'no seq is used again')
  await log.close()
  log = OffsetLog(file)
  t.equal(String(await log.get(next)), 'next')
  await log.close()
})

tape('compact: a range that ends with the first record of a page has it, though the page before is padded', async (t) => {
  const log = OffsetLog(newPath('log'))
  const first = await log.append(Buffer.alloc(0))
  await log.append([16065, 8, 15900].map((size) => Buffer.alloc(size, 1)))
  const [, ...seqs] = await collect(log.stream({ values: false }))
  await log.del(first)
  await log.compact()
  for (const seq of seqs) {
    t.deepEqual(await collect(log.stream({ lte: seq, values: false })), seqs.filter((other) => other <= seq))
    t.deepEqual(await collect(log.stream({ lt: seq + 0.5, gte: seq, values: false })), [seq])
  }
  await log.close()
})

tape('compact: the gap at the end may be a byte more than a frame is', async (t) => {
  for (const size of [0, 1, 2, 3, 4, 5]) {
    const log = OffsetLog(newPath('log'))
    await log.append([0, 0, size].map((size) => Buffer.alloc(size, 1)))
    const seqs = await collect(log.stream({ values: false }))
    await log.del([seqs[0], seqs[2]])
    const { logEnd: end } = log._file
    await log.compact()
    t.deepEqual(await collect(log.stream({ values: false })), [seqs[1]])
    t.equal(log._file.logEnd, end)
    await log.close()
  }
})

tape('compact: the room at the end of a page is too small for a gap', async (t) => {
  const PAGE_SIZE = 16 * 1024
  for (const crossing of [-3, -2, -1, 0, 1, 2, 3, 4, 5]) {
    for (const room of [0, 1, 2, 3, 4, 5].filter((room) => crossing + room >= 0)) {
      // In a quick run each of the two with every second room.
      for (const isUnclean of isLongRun ? [false, true] : [(crossing + room) % 2 === 0]) {
        const disk = new SimulatedDisk()
        const options = { storage: disk.storage }
        let log = OffsetLog('/log', options)
        // The gap of the second record is as small as its length. So the rest moves by its data.
        const sizes = [5, crossing + room]
        const lead = 40 + sizes.reduce((sum, size) => sum + 4 + size, 0)
        await log.append([...sizes, PAGE_SIZE - lead - 4 + crossing].map((size) => Buffer.alloc(size, 1)))
        const [first, second, last] = await collect(log.stream({ values: false }))
        await log.del(second)
        const kept = [first, last]
        if (isUnclean) {
          await log.sync()
          const left = disk.clone()
          await log.close()
          options.storage = left.storage
          log = OffsetLog('/log', options)
          kept.push(await log.append(Buffer.from('behind')))
        }
        const name = `${crossing} bytes cross, ${room} bytes of room, ${isUnclean ? 'unclean' : 'clean'}`
        const { logEnd: end } = log._file
        const failure = await failureOf(() => log.compact())
        if (failure) {
          t.fail(`${name}: ${failure}`)
          continue
        }
        if (log._file.logEnd !== end) t.fail(`${name}: the end moved`)
        kept.push(await log.append(Buffer.from('next')))
        await log.close()
        const report = await verify('/log', options)
        if (!report.isSound) t.fail(`${name}: ${JSON.stringify(report)}`)
        log = OffsetLog('/log', options)
        t.deepEqual(await collect(log.stream({ values: false })), kept, name)
        t.deepEqual(await collect(log.stream({ values: false, reverse: true })), [...kept].reverse())
        for (const seq of kept) await log.get(seq)
        await log.compact()
        t.deepEqual(await collect(log.stream({ values: false })), kept)
        await log.close()
      }
    }
  }
})

tape('compact: old pages that a file system shows again behind the end are a torn end, no damage', async (t) => {
  const PAGE_SIZE = 16 * 1024
  const file = newPath('log')
  const record = (fill) => Buffer.alloc(3000, fill)
  const log = OffsetLog(file, { fsync: 'never' })
  const seqs = []
  for (let index = 0; index < 40; index++) seqs.push(await log.append(record(index)))
  await log.sync()
  // Chunks that say that all before them is durable.
  for (let index = 40; index < 50; index++) await log.append(record(index))
  await log.close()
  const before = fs.readFileSync(file)
  const again = OffsetLog(file, { fsync: 'never' })
  await again.del(seqs.slice(0, 30))
  await again.compact()
  await again.append(record(50))
  await again.sync()
  const { size } = await again.stats()
  await again.append(Buffer.alloc(80_000, 51))
  // The power goes. Of the last append nothing was written, and its blocks were the log's before the compaction.
  const after = fs.readFileSync(file)
  await again.close()
  const pageEnd = size - size % PAGE_SIZE + PAGE_SIZE
  after.fill(0, size)
  before.copy(after, pageEnd, pageEnd, after.length)
  t.ok(before.length >= after.length, 'all of it is of the old file')
  const crashed = newPath('log')
  fs.writeFileSync(crashed, after)
  const found = OffsetLog(crashed)
  await found.ready()
  t.deepEqual(found.recovery?.damage, [])
  t.equal(found.recovery?.offset, size)
  const values = (await collect(found.stream())).map(({ value }) => value[0])
  t.deepEqual(values, [...Array(21).keys()].map((index) => index + 30))
  await found.append(record(52))
  await found.close()
})

tape('compact: what the next process calls durable survives the power, though the last one was killed behind the rename', async (t) => {
  const FILE = '/folder/log'
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const first = await log.append(Buffer.alloc(100, 1))
  await log.append(Buffer.alloc(100, 2))
  await log.sync()
  await log.del(first)
  const last = await log.append(Buffer.alloc(100, 3))
  let isRenamed = false
  let killed = null
  disk.onChange = ({ name }) => {
    if (isRenamed && name === 'syncFolder') killed ??= disk.clone()
    isRenamed ||= name === 'rename'
  }
  await log.compact()
  await log.close()
  const next = OffsetLog(FILE, { storage: killed.storage, fsync: 'never' })
  await next.ready()
  t.equal(next.durable.value, last)
  const left = OffsetLog(FILE, { storage: killed.crash(() => 0).storage })
  t.equal((await left.get(last).catch((err) => err)).length, 100)
  t.equal((await left.get(first).catch((err) => err)).code, 'flumelog:deleted')
  await left.close()
  await next.close()
})

tape('compact: a reader that is opened afterwards, with an end from before, meets no damage', async (t) => {
  const log = OffsetLog(newPath('log'), { codec: jsonCodec })
  await log.ready()
  const file = log._file
  const seqs = []
  const ends = []
  for (let n = 0; n < 900; n++) {
    seqs.push(await log.append({ n, pad: 'x'.repeat(n % 97) }))
    ends.push(file.logEnd)
  }
  await log.del(seqs.filter((_, n) => n % 3 === 0))
  await log.compact()
  const faults = []
  for (const reverse of [false, true]) {
    for (const [n, end] of ends.entries()) {
      // A reader that goes forward ends there.
      const range = parseRange('stream', reverse ? { lte: seqs[n], reverse } : {}, true)
      const found = []
      try {
        const reader = await toPromise((cb) => openRange(file, range, cb))
        const readNext = () => toPromise((cb) => reader.next(end, cb))
        for (let run; (run = await readNext()).count > 0;) found.push(...run.seqs.slice(0, run.count))
      } catch (err) {
        faults.push(err.message)
      }
      const expected = seqs.slice(0, n + 1).filter((_, at) => at % 3 > 0)
      if (found.length !== expected.length) faults.push(`${found.length} records up to ${end}`)
    }
  }
  t.deepEqual(faults.slice(0, 3), [])
  await log.close()
})

tape('compact: measureReclaimable meanwhile measures the old file or the new one', async (t) => {
  for (let delay = 0; delay < 40; delay++) {
    const log = OffsetLog('/folder/log', { codec: jsonCodec, storage: new SimulatedDisk().storage })
    const seqs = await log.append(Array.from({ length: 500 }, (_, n) => ({ n, text: 'x'.repeat(50) })), { seqs: true })
    await log.del(seqs.filter((_, n) => n % 2 === 0))
    const before = await log.measureReclaimable()
    const compacting = log.compact()
    for (let left = delay; left > 0; left--) await nextTurn()
    const size = await log.measureReclaimable()
    if (size !== before && size !== 0) t.fail(`after ${delay} turns: ${size}`)
    await compacting
    await log.close()
  }
})

for (const index of [undefined, createIndex(['n'])]) {
  const how = index === undefined ? 'without' : 'with'
  tape(`compact: whatever call fails, reads find all records, also if the new file could not be read at once (${how} an index)`, async (t) => {
    const before = new SimulatedDisk()
    const open = (storage) => OffsetLog('/folder/log', { codec: jsonCodec, storage, index })
    const made = open(before.storage)
    const values = Array.from({ length: 1000 }, (_, n) => ({ n: n % 100, text: 'x'.repeat(50) }))
    const seqs = await made.append(values, { seqs: true })
    await made.del(seqs.filter((_, n) => n % 2 === 0))
    const wanted = seqs.filter((_, n) => n % 2 === 1)
    await made.index?.ready()
    await made.close()
    const poisoned = []
    for (const span of [1, Infinity]) {
      for (let at = 0, isOver = false; !isOver; at++) {
        const state = { isCompacting: false }
        const failing = new FailingDisk({ code: 'EIO', at, span, counts: () => state.isCompacting }, before)
        const log = open(failing.storage)
        await log.ready()
        await log.index?.ready()
        state.isCompacting = true
        const failure = await failureOf(() => log.compact())
        isOver = failing.callCount <= at
        failing.isMended = true
        const where = `call ${at} fails ${span} times (${failing.failed[0]}), ${failure?.code}`
        if (failure?.code === 'ERR_LOG_POISONED') poisoned.push(failing.failed[0])
        try {
          const [parts, size] = await Promise.all([log.partitions(3), log.measureReclaimable()])
          const counts = await Promise.all(parts.map((part) => log.count(part)))
          if (counts.reduce((sum, count) => sum + count, 0) !== 500) t.fail(`${where}: partitions have ${counts}`)
          if (size === null) t.fail(`${where}: it is unknown what can be given back`)
          const found = await collect(log.stream({ values: false }))
          if (String(found) !== String(wanted)) t.fail(`${where}: ${found.length} records`)
          for (const seq of [wanted[0], wanted[250], wanted[499]]) await log.get(seq)
          const count = await log.count({ where: { path: 'n', equals: 7 } })
          if (count !== 10) t.fail(`${where}: a count of ${count}`)
        } catch (err) {
          t.fail(`${where}: ${err.stack}`)
        }
        await log.close().catch(() => {})
        if (failing.leaked.length > 0) t.fail(`${where}: left open: ${failing.leaked}`)
      }
    }
    t.ok(poisoned.some((call) => call.startsWith('readSync log ')), `poisoned by ${poisoned}`)
  })
}
